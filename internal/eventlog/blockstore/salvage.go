package blockstore

import "context"

// Salvage delivers every message that is whole, whatever lies between them, and
// whatever the stream's settings and the watermark say: block by block, in the order in
// which they stand there. A block that was copied gives its messages again.
func (s *Store) Salvage(ctx context.Context, deliver func(Record) error) error {
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	var buffer []byte
	for _, block := range blocks {
		var failed error
		_, buffer, err = s.scanBlock(block, buffer, func(r Record) {
			if failed == nil {
				failed = deliver(r)
			}
		})
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
