{{/* At most 38 characters: a CronJob may have 52, and the restore drill adds 14. */}}
{{- define "payfold.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 38 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 38 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* Of all objects. */}}
{{- define "payfold.labels" -}}
{{ include "payfold.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Of all pods of the release. app.kubernetes.io/component names their kind. */}}
{{- define "payfold.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The component whose pods run a program: in single mode one pod runs both. */}}
{{- define "payfold.component" -}}
{{ ternary "node" .program (eq .root.Values.mode "single") }}
{{- end }}
