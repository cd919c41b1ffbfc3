{{/* Name of all objects: the release's when it has the chart's in it, else both. */}}
{{- define "logpersister.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "logpersister.operator" -}}
{{ include "logpersister.fullname" . }}-operator
{{- end -}}

{{- define "logpersister.releaser" -}}
{{ include "logpersister.fullname" . }}-release
{{- end -}}

{{- define "logpersister.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "logpersister.operator" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is empty, and serviceAccount.create is false: name an existing account" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Labels that find the operator's pods; they never change. */}}
{{- define "logpersister.selector" -}}
app.kubernetes.io/name: logpersister-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "logpersister.releaserSelector" -}}
app.kubernetes.io/name: logpersister-release
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "logpersister.testSelector" -}}
app.kubernetes.io/name: logpersister-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "logpersister.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "logpersister.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: logpersister
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "logpersister.labels" -}}
{{- $own := include "logpersister.ownLabels" . -}}
{{- range keys .Values.commonLabels -}}
{{- if hasKey (fromYaml $own) . -}}
{{- fail (printf "commonLabels: the chart itself sets the label %s; leave it out, or choose another name" .) -}}
{{- end -}}
{{- end -}}
{{ $own }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Reference of an image: (list $ "operator" "logpersister-operator"). A digest holds in a registry only. */}}
{{- define "logpersister.image" -}}
{{- $root := index . 0 -}}
{{- $image := $root.Values.image -}}
{{- if not (regexMatch "^([^/\\s:]+(:[0-9]+)?(/[^/\\s:]+)*)?$" $image.registry) -}}
{{- fail (printf "image.registry: %q is not a registry; write host and folder without https:// before and / after it, for example registry.example.org/data" $image.registry) -}}
{{- end -}}
{{- $registry := ternary (printf "%s/" $image.registry) "" (ne $image.registry "") -}}
{{- $digest := dig "digests" (index . 1) "" $image -}}
{{- $pinned := ternary (printf "@%s" $digest) "" (and (ne $registry "") (ne $digest "")) -}}
{{- default (printf "%s%s:%s%s" $registry (index . 2) $root.Chart.AppVersion $pinned) (index $image (index . 1)) -}}
{{- end -}}

{{/* What memberDefaults says about the way out, for the operator: it asks the same brokers and identity providers. */}}
{{- define "logpersister.wayOut" -}}
{{- $proxy := .Values.memberDefaults.proxy -}}
{{- $ca := .Values.memberDefaults.extraCa -}}
{{- $exceptions := compact (list (ternary "$(KUBERNETES_SERVICE_HOST)" "" (ne "" (print $proxy.http $proxy.https))) $proxy.exceptions) -}}
{{- $file := ternary (printf "/etc/logpersister-ca/%s" $ca.key) "" (ne "" $ca.configMap) -}}
{{- $variables := list (list "HTTP_PROXY" $proxy.http) (list "http_proxy" $proxy.http) (list "HTTPS_PROXY" $proxy.https) (list "https_proxy" $proxy.https) (list "NO_PROXY" (join "," $exceptions)) (list "no_proxy" (join "," $exceptions)) (list "SSL_CERT_FILE" $file) (list "AWS_CA_BUNDLE" $file) -}}
{{- range $variables }}
{{- if index . 1 }}
- name: {{ index . 0 }}
  value: {{ index . 1 | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables of the operator's container. One name stands once, or server-side applies refuse the whole. */}}
{{- define "logpersister.environment" -}}
- name: LOGPERSISTER_OPERATOR_IMAGE
  value: {{ include "logpersister.image" (list . "member" "logpersister") | quote }}
- name: LOGPERSISTER_OPERATOR_MEMBER_DEFAULTS
  value: {{ toJson .Values.memberDefaults | quote }}
- name: LOGPERSISTER_OPERATOR_CANARY_NAMESPACES
  value: {{ join "," .Values.canaryNamespaces | quote }}
- name: LOGPERSISTER_OPERATOR_CANARY_NAMESPACE_SELECTOR
  value: {{ include "logpersister.canaryNamespaceSelector" . | quote }}
- name: LOGPERSISTER_OPERATOR_NAMESPACES
  value: {{ join "," .Values.namespaces | quote }}
- name: LOGPERSISTER_OPERATOR_NAMESPACE_SELECTOR
  value: {{ include "logpersister.namespaceSelector" . | quote }}
- name: LOGPERSISTER_OPERATOR_EXECUTORS
  value: {{ .Values.executors.enabled | quote }}
- name: LOGPERSISTER_OPERATOR_LEASE
  value: {{ .Release.Namespace }}/{{ include "logpersister.operator" . }}
{{- range $name, $value := .Values.settings }}
- name: LOGPERSISTER_OPERATOR_{{ $name | snakecase | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
- name: LOGPERSISTER_OPERATOR_HEALTH_PORT
  value: "8080"
- name: LOGPERSISTER_OPERATOR_METRICS_PORT
  value: "9090"
{{- include "logpersister.wayOut" . }}
{{- end -}}

{{/* Our kinds of resources, each with what follows, such as /status: (include "logpersister.kinds" "/status"). */}}
{{- define "logpersister.kinds" -}}
{{- $suffix := . -}}
{{- $found := list -}}
{{- range list "logpersisters" "feedcollectors" "logreplays" -}}
{{- $found = append $found (print . $suffix) -}}
{{- end -}}
{{ join ", " $found }}
{{- end -}}

{{/* What the operator does in namespaces that it looks after. docs/security.md explains each; a test compares. */}}
{{- define "logpersister.rules" -}}
- apiGroups: [logpersister.dev]
  resources: [{{ include "logpersister.kinds" "" }}]
  verbs: [get, list, watch, patch]
- apiGroups: [logpersister.dev]
  resources: [{{ include "logpersister.kinds" "/status" }}]
  verbs: [patch]
- apiGroups: [logpersister.dev]
  resources: [{{ include "logpersister.kinds" "/finalizers" }}]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, watch, create, patch, delete]
{{- if .Values.executors.enabled }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, watch, create, patch, delete]
{{- end }}
- apiGroups: [""]
  resources: [serviceaccounts, services]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [{{ ternary "get, list, watch, create, patch, delete, deletecollection" "list, watch, create, patch, delete" .Values.executors.enabled }}]
- apiGroups: [""]
  resources: [pods]
  verbs: [{{ ternary "get, list, watch, create, patch, delete, deletecollection" "list, watch, delete" .Values.executors.enabled }}]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
{{- end -}}

{{- define "logpersister.namespaceSelector" -}}
{{- if and .Values.namespaces .Values.namespaceSelector -}}
{{- fail "namespaces and namespaceSelector are both set; set one of them" -}}
{{- end -}}
{{ .Values.namespaceSelector }}
{{- end -}}

{{- define "logpersister.canaryNamespaceSelector" -}}
{{- if and .Values.namespaces .Values.canaryNamespaceSelector -}}
{{- fail "canaryNamespaceSelector needs the right to list namespaces, which an operator of some namespaces has not; name them in canaryNamespaces" -}}
{{- end -}}
{{ .Values.canaryNamespaceSelector }}
{{- end -}}

{{/* What a selector of namespaces needs in addition. */}}
{{- define "logpersister.namespaceRules" -}}
{{- if . }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list]
{{- end }}
{{- end -}}

{{/* What letting go of resources needs where they are. */}}
{{- define "logpersister.releaseRules" -}}
- apiGroups: [logpersister.dev]
  resources: [{{ include "logpersister.kinds" "" }}]
  verbs: [list, patch]
{{- end -}}

{{/* Annotations of what exists only while the release is uninstalled. */}}
{{- define "logpersister.hook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
