package page

import (
	"strconv"
	"strings"
)

// Money formats an amount that is in the currency's minor unit: "EUR 5,738.20", "JPY -2,500". A currency that ISO 4217
// does not have, or none, has no known minor unit: then the text says so, and the amount stays in minor units.
func Money(amount int64, currency string) string {
	return MoneyOf(strconv.FormatInt(amount, 10), currency)
}

// MoneyOf is Money of a whole number in decimal digits, which may be longer than 64 bits.
func MoneyOf(amount, currency string) string {
	code := strings.ToUpper(currency)
	digits, known := minorDigits(code)
	if !known {
		return unknownMoney(amount, currency)
	}
	out := code + " " + withPoint(amount, digits)
	if otherwise, differs := minorDigitsElsewhere[code]; differs {
		out += " (at some providers " + code + " " + withPoint(amount, otherwise) + ")"
	}
	return out
}

func unknownMoney(amount, currency string) string {
	if currency == "" || currency == "unknown" { // a report by currency says so where a provider gives none
		return withPoint(amount, 0) + " minor units (unknown currency)"
	}
	return withPoint(amount, 0) + " minor units (unknown currency " + Name(currency) + ")"
}

// Grouped formats a whole number with separators of thousands: "1,250,000".
func Grouped(n int64) string { return withPoint(strconv.FormatInt(n, 10), 0) }

// Signed is Grouped with a sign, also of what is not below zero.
func Signed(n int64) string {
	if n < 0 {
		return Grouped(n)
	}
	return "+" + Grouped(n)
}

// withPoint puts the decimal point and the separators of thousands into a whole number.
func withPoint(amount string, digits int) string {
	sign, whole := "", amount
	if rest, negative := strings.CutPrefix(amount, "-"); negative {
		sign, whole = "-", rest
	}
	if short := digits + 1 - len(whole); short > 0 {
		whole = strings.Repeat("0", short) + whole
	}
	whole, part := whole[:len(whole)-digits], whole[len(whole)-digits:]
	var out strings.Builder
	out.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	if digits > 0 {
		out.WriteString("." + part)
	}
	return out.String()
}

// minorDigits is how many decimal digits ISO 4217 gives the minor unit of a currency.
func minorDigits(code string) (digits int, known bool) {
	if digits, known = minorDigitsOf[code]; known {
		return digits, true
	}
	if len(code) == 3 && strings.Contains(twoDigits, code+" ") {
		return 2, true
	}
	return 0, false
}

// minorDigitsOf has the currencies of ISO 4217 whose minor unit is not a hundredth.
// golang.org/x/text/currency has CLDR's digits instead, which are how people write prices: IQD and MGA have none there.
var minorDigitsOf = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// minorDigitsElsewhere has the currencies that some providers count otherwise than ISO 4217. The rows keep what the
// provider says and the amount alone does not tell which, so both readings are shown.
var minorDigitsElsewhere = map[string]int{"ISK": 2, "UGX": 2, "MGA": 0}

// twoDigits has all other currencies of ISO 4217 that have a minor unit, and the withdrawn ones of the last years.
const twoDigits = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE " +
	"CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK " +
	"HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK " +
	"MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL " +
	"SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW " +
	"ZWG ZWL "
