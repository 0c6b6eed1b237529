/** The provider's settings. Read by doctor without the SDK, which access.ts needs. */
import type { ProviderSetting } from '../../core/setting.js';

export const PREFIX = 'BURSAR_KUBERNETES_';
export const DEFAULT_TIMEOUT_SECONDS = 30;

const setting = (name: string, description: string, use: 'read' | 'act' = 'read', secret = false): ProviderSetting => ({
  name: PREFIX + name,
  description,
  required: false,
  secret,
  use,
});

/** One of KUBECONFIG, SERVER and IN_CLUSTER says where the cluster is. */
export const SETTINGS: readonly ProviderSetting[] = [
  setting('KUBECONFIG', 'Path of a kubeconfig file'),
  setting('CONTEXT', 'Context of the kubeconfig to read with; its current one where absent'),
  setting('ACT_CONTEXT', 'Another context of the kubeconfig, to act with', 'act'),
  setting('SERVER', 'URL of the API server (https, or http on this machine)'),
  setting('CA_FILE', "File with the certificate authority of SERVER; the system's own where absent"),
  setting('IN_CLUSTER', 'yes: runs in a pod of the cluster and reads with its service account'),
  setting('TOKEN', 'Bearer token to read with', 'read', true),
  setting('TOKEN_FILE', 'File with the bearer token to read with; read again every minute'),
  setting('ACT_TOKEN', 'Another bearer token, to act with', 'act', true),
  setting('ACT_TOKEN_FILE', 'File with the bearer token to act with; read again every minute', 'act'),
  setting('CLUSTER', 'Name of the cluster: its label in names and bills (SubAccountId)'),
  setting('PROVIDER', "Whose machines these are (AWS, Google Cloud, ...); told by the nodes' own ids where absent"),
  setting('ACCOUNT', "The cloud's billing account, so that metered usage meets its bill"),
  setting('TIMEOUT_SECONDS', `Longest wait for an answer (${DEFAULT_TIMEOUT_SECONDS})`),
];
