package main

import (
	"io"
	"os"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packageFile says what is in a package. Its paths begin at the repository's root.
const packageFile = "deploy/packages/nfpm.yaml"

func (b *built) writeDeb(to string) (string, error) { return b.writePackage(to, "deb", deb.Default) }

func (b *built) writeRPM(to string) (string, error) { return b.writePackage(to, "rpm", rpm.DefaultRPM) }

func (b *built) writePackage(to, format string, packager nfpm.Packager) (string, error) {
	info, err := b.packageInfo(format)
	if err != nil {
		return "", err
	}
	return b.create(to, "."+format, func(file io.Writer) error { return packager.Package(info, file) })
}

// packageInfo reads packageFile and makes its paths those of the commit's folder.
func (b *built) packageInfo(format string) (*nfpm.Info, error) {
	if err := b.stage(); err != nil {
		return nil, err
	}
	given := map[string]string{"VERSION": b.version, "ARCH": b.target.arch}
	config, err := nfpm.ParseFileWithEnvMapping(b.path(packageFile), func(name string) string { return given[name] })
	if err != nil {
		return nil, err
	}
	info, err := config.Get(format)
	if err != nil {
		return nil, err
	}
	info.MTime = b.time
	for _, content := range info.Contents {
		if content.Source != "" {
			content.Source = b.path(content.Source)
		}
	}
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = b.path(*script)
	}
	return nfpm.WithDefaults(info), nil
}

// stage writes the files of a package that are not in the repository into its folder bin.
func (b *built) stage() error {
	documents, err := b.documents()
	if err != nil {
		return err
	}
	pages, err := b.manPages()
	if err != nil {
		return err
	}
	for _, document := range append(documents, pages...) {
		if err := os.WriteFile(b.path("bin/"+document.name), document.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
