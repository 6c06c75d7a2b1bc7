{{/* The secrets that each program has as files, and the variables with their paths; without those of providers. */}}
{{- define "payfold.secretUses" -}}
ingest:
  natsURLIngest: NATS_URL_FILE
  natsCredsIngest: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
projector:
  {{- if .Values.projector.checksSignatures }}
  retiredSecrets: RETIRED_SECRETS_FILE
  {{- end }}
  databaseURL: DATABASE_URL_FILE
  natsURLProjector: NATS_URL_FILE
  natsCredsProjector: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
  githubToken: INVITE_GITHUB_TOKEN_FILE
  githubAppKey: INVITE_GITHUB_APP_KEY_FILE
  pingURL: PING_URL_FILE
console:
  {{- if .Values.console.checksSignatures }}
  retiredSecrets: RETIRED_SECRETS_FILE
  {{- end }}
  consoleDatabaseURL: DATABASE_URL_FILE
  natsURLProjector: NATS_URL_FILE
  natsCredsProjector: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
  consoleToken: CONSOLE_TOKEN_FILE
  consoleOIDCClientSecret: CONSOLE_OIDC_CLIENT_SECRET_FILE
reconcile:
  databaseURL: DATABASE_URL_FILE
  natsURLProjector: NATS_URL_FILE
  natsCredsProjector: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
restore-drill:
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
create-stream:
  natsURLAdmin: NATS_URL_FILE
  natsCredsAdmin: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
{{- end }}

{{/* The files of a program (dict root, program): file → its variable, and the name and the key of the Secret. */}}
{{- define "payfold.files" -}}
{{- range $value, $variable := get (include "payfold.secretUses" .root | fromYaml) .program }}
{{- include "payfold.file" (dict "file" $value "variable" $variable "secret" (get $.root.Values.secrets $value)) }}
{{- end }}
{{- if eq .program "reconcile" }}
{{- range $provider, $key := .root.Values.reconcile.keys }}
{{- include "payfold.file" (dict "file" (printf "%sAPIKey" $provider) "variable" (printf "%s_API_KEY_FILE" (upper $provider)) "secret" $key) }}
{{- end }}
{{- end }}
{{- if or (eq .program "ingest") (get .root.Values .program | default dict).checksSignatures }}
{{- range $provider, $secrets := .root.Values.providers }}
{{- $variable := printf "%s_%s_SECRET" (upper $provider) (ternary "EVENT" "WEBHOOK" (eq $provider "payfold")) }}
{{- include "payfold.file" (dict "file" (printf "%sSecret" $provider) "variable" (printf "%s_FILE" $variable) "secret" $secrets.secret) }}
{{- include "payfold.file" (dict "file" (printf "%sPrevious" $provider) "variable" (printf "%s_PREVIOUS_FILE" $variable) "secret" $secrets.previous) }}
{{- if and (eq $.program "ingest") $secrets.apiKey }}
{{- include "payfold.file" (dict "file" (printf "%sAPIKey" $provider) "variable" (printf "%s_API_KEY_FILE" (upper $provider)) "secret" $secrets.apiKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* One line of payfold.files (dict file, variable, secret), if the secret is named. */}}
{{- define "payfold.file" -}}
{{- if .secret.name }}
{{ .file }}: {variable: {{ .variable }}, name: {{ .secret.name | quote }}, key: {{ .secret.key | quote }}}
{{- end }}
{{- end }}

{{/* The paths of deliveries: those of the providers with a secret, as a list in YAML. */}}
{{- define "payfold.paths" -}}
{{- range $provider, $secrets := .Values.providers }}
{{- if $secrets.secret.name }}
- /api/payments/{{ $provider }}/webhook
{{- end }}
{{- end }}
{{- end }}

{{/* The variables of a program (dict root, program, config) that come from secrets and from the values. */}}
{{- define "payfold.environment" -}}
{{- range $file, $of := include "payfold.files" . | fromYaml }}
- {name: {{ $of.variable }}, value: /etc/payfold/secrets/{{ $file }}}
{{- end }}
{{- with .root.Values.secrets.otlpHeaders }}
{{- if and .name (has $.program (list "ingest" "projector")) }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: {secretKeyRef: {name: {{ .name | quote }}, key: {{ .key | quote }}}}
{{- end }}
{{- end }}
{{- if .root.Values.trustedCertificates.configMap }}
- {name: SSL_CERT_DIR, value: /etc/payfold/certificates}
{{- end }}
{{- range $variable, $value := merge (dict) .config .root.Values.config }}
- {name: {{ $variable }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* The volumes of a program (dict root, program). The names differ, so that one pod can run several. */}}
{{- define "payfold.volumes" -}}
- name: {{ .program }}-tmp
  emptyDir: {}
{{- with include "payfold.files" . | fromYaml }}
- name: {{ $.program }}-secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $file, $of := . }}
      - secret: {name: {{ $of.name | quote }}, items: [{key: {{ $of.key | quote }}, path: {{ $file }}}]}
      {{- end }}
{{- end }}
{{- end }}

{{/* The mounts of a program (dict root, program). */}}
{{- define "payfold.mounts" -}}
- {name: {{ .program }}-tmp, mountPath: /tmp}
{{- if include "payfold.files" . | fromYaml }}
- {name: {{ .program }}-secrets, mountPath: /etc/payfold/secrets, readOnly: true}
{{- end }}
{{- if .root.Values.trustedCertificates.configMap }}
- {name: certificates, mountPath: /etc/payfold/certificates, readOnly: true}
{{- end }}
{{- end }}
