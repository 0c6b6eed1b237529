/**
 * Starts OpenTelemetry's traces where the standard variables name an endpoint; otherwise nothing of the SDK is even
 * loaded.
 *
 * The SDK reads its variables itself (opentelemetry.io, "Environment Variable Specification" and "OTLP Exporter
 * Configuration"); this file only says whether there is anything to start, and as what. The rooms know the API alone.
 * Spans go out by OTLP over HTTP in JSON. Never stops the process:
 * a receiver that is away loses spans, and nothing else.
 */

/** The variables that have an effect here, for whoever lists settings. */
export const TRACING_SETTINGS: readonly string[] = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_COMPRESSION',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_TRACES_EXPORTER',
  'OTEL_SDK_DISABLED',
];

type Environment = Readonly<Record<string, string | undefined>>;

export interface Tracing {
  /** Sends what was not sent yet, for at most a few seconds, and takes the SDK out of the API. */
  stop(): Promise<void>;
}

const STOP_MILLISECONDS = 5000;

/** Whether an endpoint is named and nothing says otherwise. */
export function isTraced(environment: Environment): boolean {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
    OTEL_SDK_DISABLED: disabled,
    OTEL_TRACES_EXPORTER: exporter,
  } = environment;
  const isOff = disabled?.trim().toLowerCase() === 'true' || exporter?.trim().toLowerCase() === 'none';
  return !isOff && [endpoint, own].some((text) => (text?.trim() ?? '') !== '');
}

/**
 * @param environment the process' own: the SDK reads its variables from there. @returns null where nothing was started
 */
export async function startTracing(environment: Environment): Promise<Tracing | null> {
  if (!isTraced(environment)) return null;
  const [
    { context, propagation, trace },
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    { defaultResource, detectResources, envDetector, resourceFromAttributes, serviceInstanceIdDetector },
  ] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  // What the variables say goes before what we say.
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'bursar' }))
    .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return {
    async stop() {
      const late = new Promise<void>((resolve) => void setTimeout(resolve, STOP_MILLISECONDS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
