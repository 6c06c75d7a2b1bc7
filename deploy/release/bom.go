package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes what the programs contain, as Go has noted it in them: CycloneDX, JSON.
func (b *built) writeBOM(to string) (string, error) {
	bom, err := b.bom()
	if err != nil {
		return "", err
	}
	return b.create(to, ".cdx.json", func(file io.Writer) error {
		return cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	})
}

func (b *built) bom() (*cyclonedx.BOM, error) {
	var components []cyclonedx.Component
	var dependencies []cyclonedx.Dependency
	for _, program := range programs {
		component, err := b.application(program)
		if err != nil {
			return nil, err
		}
		needed := []string{b.runtime(program).BOMRef}
		for _, module := range b.modules(program) {
			needed = append(needed, purl(module.Path, module.Version))
		}
		components = append(components, component)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: component.BOMRef, Dependencies: &needed})
	}
	components = append(components, b.runtime(programs[0]))
	for _, module := range b.allModules() {
		components = append(components, library(module.Path, module.Version))
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serialNumber(components)
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: b.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "payfold", Type: cyclonedx.ComponentTypeApplication, Name: "payfold", Version: b.version,
			Description: "ingest and projector for " + b.target.String(), PackageURL: purl(b.infos[programs[0]].Main.Path, "v"+b.version),
		},
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom, nil
}

// application returns the component of a program, with the hash of its file.
func (b *built) application(program string) (cyclonedx.Component, error) {
	sum, err := sumOf(b.program(program))
	return cyclonedx.Component{
		BOMRef: program, Type: cyclonedx.ComponentTypeApplication, Name: program, Version: b.version,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
	}, err
}

// runtime returns the component that scanners know Go's own library by.
func (b *built) runtime(program string) cyclonedx.Component {
	return library("stdlib", strings.TrimPrefix(b.infos[program].GoVersion, "go"))
}

func library(path, version string) cyclonedx.Component {
	url := purl(path, version)
	return cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serialNumber is a UUID (version 8, RFC 9562) of the components, so that equal programs have the same.
func serialNumber(components []cyclonedx.Component) string {
	sum := sha256.New()
	for _, component := range components {
		fmt.Fprintln(sum, component.BOMRef, component.Version)
		if component.Hashes != nil {
			fmt.Fprintln(sum, *component.Hashes)
		}
	}
	id := sum.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
