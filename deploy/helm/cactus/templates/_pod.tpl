{{- /* The parts that the pods of both kinds share. */ -}}

{{- define "cactus.selector" -}}
app.kubernetes.io/name: cactus
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cactus.labels" -}}
{{ include "cactus.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cactus.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "cactus.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "cactus.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "cactus.placing" -}}
nodeSelector: {{ toJson .Values.nodeSelector }}
tolerations: {{ toJson .Values.tolerations }}
{{- end }}

{{- /* The home directory is a folder of the volume: its owner alone may enter it, and nobody else may replace it. */ -}}
{{- define "cactus.mounts" -}}
- name: home
  mountPath: /var/lib/cactus
  subPath: home
- name: tmp
  mountPath: /tmp
{{- if .Values.modelsClaim }}
- name: models
  mountPath: /models
  readOnly: true
{{- end }}
{{- end }}

{{- define "cactus.volumes" -}}
- name: tmp
  emptyDir: {}
{{- with .Values.modelsClaim }}
- name: models
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- end }}

{{- define "cactus.serviceVolumes" -}}
- name: home
  persistentVolumeClaim:
    claimName: {{ .Values.state.existingClaim | default (printf "%s-state" .Release.Name) }}
- name: config
  configMap:
    name: {{ .Release.Name }}
{{- with .Values.tlsSecret }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{ include "cactus.volumes" . }}
{{- end }}

{{- define "cactus.serviceMounts" -}}
{{ include "cactus.mounts" . }}
- name: config
  mountPath: /etc/cactus
  readOnly: true
{{- if .Values.tlsSecret }}
- name: tls
  mountPath: /etc/cactus-tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "cactus.serviceEnvironment" -}}
- name: CACTUS_API_KEYS
  valueFrom:
    secretKeyRef:
      name: {{ .Values.apiKeysSecret }}
      key: keys
{{- with .Values.cloudKeySecret }}
- name: CACTUS_CLOUD_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: key
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "cactus.serveOptions" -}}
- --config=/etc/cactus/cactus.toml
- --workers={{ .Values.workers }}
- --threads={{ .Values.threads }}
{{- with .Values.model }}
- {{ printf "--model=%s" . | quote }}
{{- end }}
- --http=0.0.0.0:8080
{{- if .Values.tlsSecret }}
- --tls-cert=/etc/cactus-tls/tls.crt
- --tls-key=/etc/cactus-tls/tls.key
{{- else }}
- --behind-proxy
{{- end }}
- --drain-timeout={{ .Values.drainTimeoutSeconds }}
- --job-log=-
- --log-format=json
{{- end }}

{{- /* The Service has dropped the pod after 5 s; actors need some seconds after the jobs. */ -}}
{{- define "cactus.ending" -}}
terminationGracePeriodSeconds: {{ add .Values.drainTimeoutSeconds 25 }}
{{- end }}

{{- define "cactus.probes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne .Values.tlsSecret "") -}}
# A model from the hub is loaded first; the service itself gives up a load without progress.
startupProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  failureThreshold: 720
# The gateway answers; if it hangs or ends, `cactus serve` replaces it within this time.
livenessProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
# New requests may come: a worker is there, the journal can be written, and nothing drains.
readinessProbe:
  httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
lifecycle:
  preStop:
    exec:
      command: [sleep, "5"]
{{- end }}

{{- /* Fills the home directory before the container starts: kernels compiled in the image, and keys. */ -}}
{{- define "cactus.prepare" -}}
name: prepare
{{ include "cactus.image" . }}
command: [/bin/sh, -euc]
args:
  - |
    umask 077
    home=/volume/home
    mkdir -p "$home/.cache" "$home/.cactus/keys"
    chmod -R go= "$home"
    if [ ! -d "$home/.cache/numba" ]; then
      rm -rf "$home/.cache/numba.new"
      cp -R "$NUMBA_CACHE_DIR" "$home/.cache/numba.new"
      mv "$home/.cache/numba.new" "$home/.cache/numba"
    fi
    {{- if .Values.ray.enabled }}
    cp /keys/worker.key "$home/worker.key"
    for file in server.key known.json; do
      if [ -e "/keys/$file" ] && [ ! -e "$home/.cactus/keys/$file" ]; then
        cp "/keys/$file" "$home/.cactus/keys/$file"
      fi
    done
    {{- end }}
securityContext:
  {{- include "cactus.containerSecurity" . | nindent 2 }}
resources:
  requests: {cpu: 100m, memory: 64Mi}
  limits: {memory: 256Mi}
volumeMounts:
  - name: home
    mountPath: /volume
  {{- if .Values.ray.enabled }}
  - name: keys
    mountPath: /keys
    readOnly: true
  {{- end }}
{{- end }}

{{- define "cactus.rayEnvironment" -}}
# Ray runs its workers at nice 15 by default, and its autoscaler serves metrics to everybody.
- name: RAY_worker_niceness
  value: "0"
- name: AUTOSCALER_METRIC_PORT
  value: "-1"
{{- end }}

{{- define "cactus.scales" -}}
{{ gt (int .Values.ray.maxPods) (int .Values.ray.minPods) }}
{{- end }}
