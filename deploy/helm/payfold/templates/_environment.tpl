{{/* The secrets that each program has as files, and the variables with their paths. */}}
{{- define "payfold.secretUses" -}}
ingest:
  providerSecret: PROVIDER_WEBHOOK_SECRET_FILE
  providerSecretPrevious: PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE
  natsURLIngest: NATS_URL_FILE
  natsCredsIngest: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
projector:
  {{- if .Values.projector.checksSignatures }}
  providerSecret: PROVIDER_WEBHOOK_SECRET_FILE
  providerSecretPrevious: PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE
  providerSecretsRetired: PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE
  {{- end }}
  databaseURL: DATABASE_URL_FILE
  natsURLProjector: NATS_URL_FILE
  natsCredsProjector: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
  githubToken: INVITE_GITHUB_TOKEN_FILE
  githubAppKey: INVITE_GITHUB_APP_KEY_FILE
console:
  {{- if .Values.console.checksSignatures }}
  providerSecret: PROVIDER_WEBHOOK_SECRET_FILE
  providerSecretPrevious: PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE
  providerSecretsRetired: PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE
  {{- end }}
  consoleDatabaseURL: DATABASE_URL_FILE
  natsURLProjector: NATS_URL_FILE
  natsCredsProjector: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
  consoleToken: CONSOLE_TOKEN_FILE
  consoleOIDCClientSecret: CONSOLE_OIDC_CLIENT_SECRET_FILE
restore-drill:
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
create-stream:
  natsURLAdmin: NATS_URL_FILE
  natsCredsAdmin: NATS_CREDS
  awsCredentials: AWS_SHARED_CREDENTIALS_FILE
{{- end }}

{{/* The named secrets of a program (dict root, program): value → variable. */}}
{{- define "payfold.files" -}}
{{- range $value, $variable := get (include "payfold.secretUses" .root | fromYaml) .program }}
{{- if (get $.root.Values.secrets $value).name }}
{{ $value }}: {{ $variable }}
{{- end }}
{{- end }}
{{- end }}

{{/* The variables of a program (dict root, program, config) that come from secrets and from the values. */}}
{{- define "payfold.environment" -}}
{{- range $value, $variable := include "payfold.files" . | fromYaml }}
- {name: {{ $variable }}, value: /etc/payfold/secrets/{{ $value }}}
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
      {{- range $value, $_ := . }}
      {{- with get $.root.Values.secrets $value }}
      - secret: {name: {{ .name | quote }}, items: [{key: {{ .key | quote }}, path: {{ $value }}}]}
      {{- end }}
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
