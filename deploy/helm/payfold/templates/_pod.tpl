{{/* What all pods have. */}}
{{- define "payfold.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  # With Always, each start would open the private folder of the log to the group.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Labels and annotations of pods of a component (dict root, component). */}}
{{- define "payfold.podMetadata" -}}
labels:
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- include "payfold.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
{{- $annotations := deepCopy .root.Values.podAnnotations }}
{{- if and .root.Values.projector.catalogue (has .component (list "node" "projector")) }}
{{- $_ := set $annotations "payfold/catalogue" (sha256sum .root.Values.projector.catalogue) }}
{{- end }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "payfold.spread" -}}
{{- $root := .root }}
{{- $component := .component }}
{{- range .root.Values.spreadOver }}
- topologyKey: {{ . | quote }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "payfold.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{- define "payfold.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* What all containers have. */}}
{{- define "payfold.container" -}}
image: {{ include "payfold.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
# The last lines of the log say why a program ended.
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/*
Both programs answer /livez from the beginning, also while ingest checks the log. So no probe ends the
check, which would begin again. Only /readyz waits.
*/}}
{{- define "payfold.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: {{ . }}-admin}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: {{ . }}-admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}-admin}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- define "payfold.ingest" -}}
{{- $program := dict "root" . "program" "ingest" "config" .Values.ingest.config -}}
name: ingest
command: [ingest]
{{ include "payfold.container" . }}
env:
  - {name: LISTEN_ADDR, value: ":8080"}
  - {name: ADMIN_ADDR, value: ":8081"}
  - {name: DATA_DIR, value: /data}
  {{- include "payfold.environment" $program | nindent 2 }}
ports:
  - {name: deliveries, containerPort: 8080}
  - {name: ingest-admin, containerPort: 8081}
{{ include "payfold.probes" "ingest" }}
{{- if eq .Values.mode "cluster" }}
# After that, nobody connects to this pod any more.
lifecycle: {preStop: {sleep: {seconds: 5}}}
{{- end }}
resources: {{- toYaml .Values.ingest.resources | nindent 2 }}
volumeMounts:
  {{- include "payfold.mounts" $program | nindent 2 }}
  {{- if eq .Values.mode "single" }}
  - {name: data, mountPath: /data}
  {{- end }}
{{- end }}

{{- define "payfold.projector" -}}
{{- $program := dict "root" . "program" "projector" "config" .Values.projector.config -}}
name: projector
command: [projector]
{{ include "payfold.container" . }}
env:
  - {name: ADMIN_ADDR, value: ":8082"}
  - {name: DATA_DIR, value: /data}
  {{- if .Values.projector.catalogue }}
  - {name: CATALOGUE_FILE, value: /etc/payfold/catalogue/catalogue.yaml}
  {{- end }}
  {{- if and (ne .Values.mode "single") (not .Values.projector.config.PING_INGEST_ADDR) }}
  - {name: PING_INGEST_ADDR, value: none} # several may run
  {{- end }}
  {{- include "payfold.environment" $program | nindent 2 }}
ports:
  - {name: projector-admin, containerPort: 8082}
{{ include "payfold.probes" "projector" }}
resources: {{- toYaml .Values.projector.resources | nindent 2 }}
volumeMounts:
  {{- include "payfold.mounts" $program | nindent 2 }}
  {{- if .Values.projector.catalogue }}
  - {name: catalogue, mountPath: /etc/payfold/catalogue, readOnly: true}
  {{- end }}
  {{- if eq .Values.mode "single" }}
  - {name: data, mountPath: /data}
  {{- end }}
{{- end }}

{{- define "payfold.console" -}}
{{- $program := dict "root" . "program" "console" "config" .Values.console.config -}}
name: console
command: [projector, console]
{{ include "payfold.container" . }}
env:
  - {name: CONSOLE_ADDR, value: ":8083"}
  - {name: CONSOLE_ADMIN_ADDR, value: ":8084"}
  {{- if ne .Values.mode "single" }}
  - {name: CONSOLE_INGEST_ADDR, value: none} # several may run
  {{- end }}
  - {name: DATA_DIR, value: /data}
  {{- include "payfold.environment" $program | nindent 2 }}
ports:
  - {name: console, containerPort: 8083}
  - {name: console-admin, containerPort: 8084}
{{ include "payfold.probes" "console" }}
resources: {{- toYaml .Values.console.resources | nindent 2 }}
volumeMounts:
  {{- include "payfold.mounts" $program | nindent 2 }}
  {{- if eq .Values.mode "single" }}
  - {name: data, mountPath: /data, readOnly: true}
  {{- end }}
{{- end }}

{{/* Volumes that programs share (dict root, catalogue). */}}
{{- define "payfold.sharedVolumes" -}}
{{- with .root.Values.trustedCertificates.configMap }}
- name: certificates
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- if and .catalogue .root.Values.projector.catalogue }}
- name: catalogue
  configMap: {name: {{ include "payfold.name" .root }}-catalogue}
{{- end }}
{{- end }}
