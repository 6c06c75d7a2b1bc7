package main

import "time"

// newShop returns the quarter before now of a shop that sells Sketchbird, a program that draws. Each line is what
// happened to one buyer; numbers of days are counted back from now.
func newShop(now time.Time) *shop {
	s := &shop{now: now, buyers: map[string]*buyer{}}
	s.plans()
	s.licences()
	s.packs()
	s.byHand()
	s.oddities()
	return s
}

// plans are subscriptions by the month.
func (s *shop) plans() {
	s.buyer("u_moreau", "Inès Moreau", "Lyon", "FR").stripe(solo, 1, 88).first().renew().renew()
	s.buyer("u_jansen", "Daan Jansen", "Utrecht", "NL").stripe(solo, 1, 81).first().renew().renew()
	s.buyer("u_okafor", "Chidi Okafor", "London", "GB").stripe(solo, 1, 76).first().renew().renew()
	s.buyer("u_novak", "Eliška Nováková", "Brno", "CZ").stripe(solo, 1, 69).first().renew().renew()
	s.buyer("u_costa", "Rui Costa", "Porto", "PT").stripe(solo, 1, 58).first().renew()
	s.buyer("u_berg", "Ingrid Berg", "Bergen", "NO").stripe(solo, 1, 47).first().renew()
	s.buyer("u_papadakis", "Nikos Papadakis", "Chania", "GR").stripe(solo, 1, 33).first().renew()
	s.buyer("u_keller", "Jonas Keller", "Bern", "CH").stripe(solo, 1, 19).first()
	s.buyer("u_rossi", "Giulia Rossi", "Torino", "IT").stripe(solo, 1, 6).first()
	s.buyer("u_walsh", "Aoife Walsh", "Galway", "IE").creem(soloUSD, 1, 79).first().renew().renew()
	s.buyer("u_nguyen", "Linh Nguyen", "Da Nang", "VN").creem(soloUSD, 1, 52).first().renew()
	s.buyer("u_castillo", "Mateo Castillo", "Bogotá", "CO").creem(soloUSD, 1, 16).first()

	// Teams: seats are added, plans change within a period.
	s.buyer("u_atelier_nord", "Atelier Nord AB", "Malmö", "SE").stripe(studio, 4, 85).first().renew().renew()
	s.buyer("u_hoshi_games", "Hoshi Games", "Osaka", "JP").stripe(studio, 2, 71).first().
		change(studio, 5, 12*days).renew().renew()
	s.buyer("u_ortega", "Lucía Ortega", "Sevilla", "ES").stripe(solo, 1, 74).first().
		change(studio, 1, 9*days).renew().dispute(4*days).close("won", 20*days).renew().refund(1450, 3*days)
	s.buyer("u_fischer", "Lena Fischer", "Leipzig", "DE").stripe(studio, 3, 64).first().renew().
		change(studio, 1, 8*days).renew()

	// Trials: one stays, one leaves, one is in it now.
	s.buyer("u_silva", "Beatriz Silva", "Recife", "BR").stripe(solo, 1, 66).trial().renew().renew()
	s.buyer("u_kaya", "Deniz Kaya", "Izmir", "TR").stripe(solo, 1, 40).trial().cancelNow(29 * days) // after 12 days of 14
	s.buyer("u_marsh", "Ellie Marsh", "Hobart", "AU").stripe(studio, 2, 5).trial()
	s.buyer("u_haddad", "Karim Haddad", "Beirut", "LB").creem(soloUSD, 1, 4).trial()

	// Past due: one pays later, one does not, one waits within the days of grace.
	s.buyer("u_kowalski", "Piotr Kowalski", "Gdańsk", "PL").stripe(solo, 1, 83).first().fail().recover(3 * days).renew()
	s.buyer("u_lang", "Tobias Lang", "Graz", "AT").stripe(solo, 1, 67).first().fail().cancelNow(21 * days)
	s.buyer("u_mensah", "Ama Mensah", "Accra", "GH").stripe(solo, 1, 33).first().fail()

	// Cancellations: announced, done at the end of the period, and at once.
	s.buyer("u_dubois", "Hugo Dubois", "Liège", "BE").stripe(solo, 1, 14).first().cancelAtEnd()
	s.buyer("u_virtanen", "Aino Virtanen", "Tampere", "FI").stripe(studio, 1, 55).first().cancelAtEnd().end()
	s.buyer("u_popescu", "Andrei Popescu", "Cluj-Napoca", "RO").stripe(solo, 1, 38).first().
		refund(1200, 2*days).cancelNow(2*days + time.Hour)
	s.buyer("u_reyes", "Carmen Reyes", "Manila", "PH").creem(soloUSD, 1, 27).first().leave()

	// Years, with credits each month.
	s.buyer("u_whitby", "Whitby & Daughters Ltd", "Whitby", "GB").paddle(studioYear, 86).firstYear()
	s.buyer("u_macleod", "Fiona MacLeod", "Inverness", "GB").paddle(studioYear, 44).firstYear()
	s.buyer("u_evans", "Rhys Evans", "Cardiff", "GB").paddle(studioYear, 10).firstYear()
}

// licences are for the source, of which some end with their subscription.
func (s *shop) licences() {
	s.buyer("u_tanaka", "Yuki Tanaka", "Kyoto", "JP").paddle(source, 78).licensed("yuki-tanaka-draws").once()
	s.buyer("u_hughes", "Sam Hughes", "Austin", "US").paddle(source, 61).licensed("https://github.com/samhughes").once()
	s.buyer("u_eriksen", "Mads Eriksen", "Aarhus", "DK").paddle(source, 36).licensed("@mads_eriksen").once()
	s.buyer("u_bianchi", "Paolo Bianchi", "Genova", "IT").paddle(source, 8).licensed("").once()

	lindqvist := s.buyer("u_lindqvist", "Sara Lindqvist", "Uppsala", "SE").paddle(source, 57).
		licensed("saralindqvist").once()
	lindqvist.adjust(lindqvist.id("adj_"), "chargeback", "approved", source.amount, 22*days)

	weber := s.buyer("u_weber", "Klaus Weber", "Ulm", "DE").paddle(source, 49).licensed("klausweber-ulm").once()
	refund := weber.id("adj_")
	weber.adjust(refund, "refund", "pending_approval", source.amount/2, 5*days).
		adjust(refund, "refund", "approved", source.amount/2, 6*days)

	brandt := s.buyer("u_brandt", "Mia Brandt", "Kiel", "DE").paddle(source, 41).licensed("miabrandt").once()
	refused := brandt.id("adj_")
	brandt.adjust(refused, "refund", "pending_approval", source.amount, 20*days).
		adjust(refused, "refund", "rejected", source.amount, 21*days)

	chargeback := s.buyer("u_singh", "Arjun Singh", "Leicester", "GB").paddle(source, 60).licensed("arjunsingh-uk").once()
	chargeback.adjust(chargeback.id("adj_"), "chargeback", "approved", source.amount, 15*days).
		adjust(chargeback.id("adj_"), "chargeback_reverse", "approved", source.amount, 40*days)

	s.buyer("u_park", "Jiwoo Park", "Busan", "KR").paddle(sourceMonth, 72).licensed("jiwoo-park").first().renew().renew()
	s.buyer("u_clarke", "Owen Clarke", "Leeds", "GB").paddle(sourceMonth, 68).licensed("owenclarke").first().renew().end()
	s.buyer("u_lopez", "Marta López", "Vigo", "ES").paddle(sourceMonth, 35).licensed("martalopez-vigo").first().fail()
}

// packs are credit packs. One buyer buys a lot of them.
func (s *shop) packs() {
	for i, b := range []*buyer{
		s.buyer("u_sato", "Haruka Sato", "Sapporo", "JP"), s.buyer("u_kim", "Minseo Kim", "Seoul", "KR"),
		s.buyer("u_adeyemi", "Tola Adeyemi", "Ibadan", "NG"), s.buyer("u_schmid", "Vera Schmid", "Linz", "AT"),
		s.buyer("u_ivanova", "Daria Ivanova", "Plovdiv", "BG"), s.buyer("u_garcia", "Pablo García", "Rosario", "AR"),
		s.buyer("u_meyer", "Finn Meyer", "Bremen", "DE"), s.buyer("u_thomas", "Grace Thomas", "Bristol", "GB"),
	} {
		b.creem([]product{pack, packYear}[i%2], 1+i%3, 87-9*i).once(nil)
	}
	farm := s.buyer("u_pixelfarm", "Pixelfarm GmbH", "Köln", "DE")
	farm.stripe(studio, 6, 88).first().renew().renew()
	for ago := 90; ago >= 1; ago-- {
		farm.creem(pack, 1+ago%4, ago).once(nil)
	}
	farm.creem(pack, 10, 1).once(nil).refund(2700, 5*time.Hour)
	s.buyer("u_cohen", "Noa Cohen", "Haifa", "IL").creem(pack, 2, 54).once(nil).dispute(11 * days)
	s.buyer("u_dasilva", "João da Silva", "Natal", "BR").creem(packYear, 1, 31).once(nil).refund(4800, 6*days)
	s.buyer("u_muller", "Emil Müller", "Zürich", "CH").creem(stickers, 2, 29).once(nil)
	s.buyers["u_moreau"].creem(stickers, 1, 12).once(nil)

	// The refund comes an hour before its payment.
	early := s.buyer("u_bauer", "Theo Bauer", "Passau", "DE").creem(pack, 4, 24).once(nil)
	s.late(6 * days)
	early.refund(1800, 6*days-time.Hour)
}
