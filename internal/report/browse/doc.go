// Package browse answers the questions of people who look through the tables: lists of events
// page by page, one payment, one subscription, a search for any id, how the projectors stand.
//
// Each function reads one moment of one schema, which is the store's: the live tables or those as
// of a message. Its answer says which moment that is. No answer takes longer because the shop is
// older: lists are read page by page from an index, and a page of a list that no index has in order
// looks at a bounded number of events. The answers are values for templates and for JSON alike.
package browse
