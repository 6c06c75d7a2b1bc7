package catalogue

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// unreadable says where the YAML of a catalogue is wrong: which key has which value, and which value
// it must have.
func unreadable(err error) error {
	var wrongType *yaml.TypeError
	var tooLarge *yaml.OverflowError
	var wrongNode *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &wrongType):
		return wrongValue(wrongType.Token, wanted(wrongType.DstType))
	case errors.As(err, &tooLarge):
		return wrongValue(tooLarge.Token, wanted(tooLarge.DstType))
	case errors.As(err, &wrongNode):
		if wrongNode.Expected == ast.SequenceType {
			return wrongValue(wrongNode.Token, "a list")
		}
		return wrongValue(wrongNode.Token, "a "+wrongNode.Expected.YAMLName())
	}
	return errors.New(yaml.FormatError(err, false, false))
}

func wanted(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a text"
	default:
		return "a mapping"
	}
}

func wrongValue(t *token.Token, wanted string) error {
	have := strconv.Quote(t.Value)
	switch t.Type {
	case token.SequenceStartType, token.SequenceEntryType:
		have = "a list"
	case token.MappingStartType:
		have = "a mapping"
	case token.MappingValueType: // the colon behind the first key of a mapping without braces
		t, have = t.Prev, "a mapping"
	}
	return fmt.Errorf("[%d:%d] %s is %s, must be %s", t.Position.Line, t.Position.Column, keyOf(t), have, wanted)
}

// keyOf returns the key before a value.
func keyOf(t *token.Token) string {
	if t.Prev != nil && t.Prev.Type == token.MappingValueType && t.Prev.Prev != nil {
		return t.Prev.Prev.Value
	}
	return "this"
}
