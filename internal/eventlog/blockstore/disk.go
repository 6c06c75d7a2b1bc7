package blockstore

import (
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
)

// Disk measures the file system of a folder at each scrape. If that fails there is no value.
type Disk struct {
	folder     string
	free, size *prometheus.Desc
}

// NewDisk returns a collector for the file system of the folder.
func NewDisk(folder string) *Disk {
	return &Disk{
		folder: folder,
		free:   prometheus.NewDesc("payfold_log_disk_free_bytes", "Bytes that ingest can still write to the file system of the embedded log.", nil, nil),
		size:   prometheus.NewDesc("payfold_log_disk_size_bytes", "Size of the file system of the embedded log.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (d *Disk) Describe(descs chan<- *prometheus.Desc) { descs <- d.free; descs <- d.size }

// Collect implements prometheus.Collector.
func (d *Disk) Collect(metrics chan<- prometheus.Metric) {
	var stat syscall.Statfs_t
	if syscall.Statfs(d.folder, &stat) != nil {
		return
	}
	block := float64(stat.Bsize)
	metrics <- prometheus.MustNewConstMetric(d.free, prometheus.GaugeValue, block*float64(stat.Bavail))
	metrics <- prometheus.MustNewConstMetric(d.size, prometheus.GaugeValue, block*float64(stat.Blocks))
}
