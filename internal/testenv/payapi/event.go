package payapi

import (
	"fmt"
	"time"
)

// NewEvent returns the event with that number of a provider. Its type has no effect.
func NewEvent(provider string, number int, at time.Time) Event {
	at = at.UTC().Truncate(time.Second)
	id := fmt.Sprintf("evt_%08d", number)
	body := map[string]string{
		"stripe": fmt.Sprintf("{\n  \"id\": %q, \"object\": \"event\", \"type\": \"customer.created\", \"created\": %d, \"livemode\": true,\n  \"data\": {\"object\": {\"id\": \"cus_%d\", \"object\": \"customer\"}}}", id, at.Unix(), number),
		"paddle": fmt.Sprintf(`{"event_id":%q,"event_type":"customer.created","occurred_at":%q,"notification_id":null,"data":{"id":"ctm_%d"}}`, id, at.Format(time.RFC3339Nano), number),
		"polar":  fmt.Sprintf(`{"type": "customer.created", "timestamp": %q, "data": {"id": "cus_%d"}}`, at.Format(time.RFC3339Nano), number),
		"creem":  fmt.Sprintf(`{"id":%q,"eventType":"customer.created","created_at":%d,"object":{"id":"cust_%d","object":"customer"}}`, id, at.UnixMilli(), number),
	}[provider]
	return Event{ID: id, Body: body, At: at}
}
