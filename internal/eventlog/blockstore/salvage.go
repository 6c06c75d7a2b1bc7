package blockstore

import "context"

// Salvage delivers every undamaged message, block by block, in the order of the files. It
// ignores damage between messages, the stream's settings and the watermark. If a block
// exists twice, its messages are delivered twice.
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
