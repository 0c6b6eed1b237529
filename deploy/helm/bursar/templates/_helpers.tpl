{{/* Names, labels and the parts that several manifests share. */}}
{{- define "bursar.fullname" -}}
{{- if contains "bursar" .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-bursar" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "bursar.selector" -}}
app.kubernetes.io/name: bursar
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bursar.labels" -}}
{{ include "bursar.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "bursar.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
{{- end -}}

{{- define "bursar.database" -}}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ required "database.existingSecret is missing: a Secret with the database's URL" .Values.database.existingSecret | quote }}, key: {{ .Values.database.key | quote }} } }
{{- end -}}

{{- define "bursar.connections" -}}
{{ include "bursar.database" . }}
{{- if .Values.redis.existingSecret }}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.redis.existingSecret | quote }}, key: {{ .Values.redis.key | quote }} } }
{{- end }}
{{- end -}}

{{- define "bursar.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "bursar.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "bursar.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "bursar.admissionSecret" -}}
{{- if .Values.admission.certManager.enabled -}}{{ include "bursar.fullname" . }}-admission-tls{{- else -}}{{ required "admission.tlsSecret is missing: a Secret with the webhook's certificate, or let cert-manager make it" .Values.admission.tlsSecret }}{{- end -}}
{{- end -}}
