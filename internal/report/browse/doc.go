// Package browse answers the questions of the console about the tables. There are lists of events page by page, one
// payment, one subscription, a search for any id, the state of the projectors.
//
// Each function reads one moment of the store's schema: of the live tables, or of tables as of a
// message. Its answer says which moment that is. No answer takes longer because the shop is older:
// lists are read page by page from an index. If no index has the order of a list, a page looks at a
// bounded number of events. The answers are values for templates and for JSON.
package browse
