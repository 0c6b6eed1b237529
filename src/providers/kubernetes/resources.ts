/** The kinds of jobs that there are, and by which group, version and plural the API serves them; labels of pools. */

export const JOB_KINDS = ['job', 'rayjob', 'pytorchjob'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

export const RESOURCES: Readonly<
  Record<JobKind, { readonly group: string; readonly version: string; readonly plural: string }>
> = {
  job: { group: 'batch', version: 'v1', plural: 'jobs' },
  rayjob: { group: 'ray.io', version: 'v1', plural: 'rayjobs' },
  pytorchjob: { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs' },
};

/** As RBAC and messages word it: `jobs.batch`. */
export const resourceOf = (kind: JobKind): string => `${RESOURCES[kind].plural}.${RESOURCES[kind].group}`;

/** Labels of nodes that name their pool: of Karpenter, GKE, EKS, AKS, and CoreWeave (its cluster autoscaler). */
export const POOLS = [
  'karpenter.sh/nodepool',
  'cloud.google.com/gke-nodepool',
  'eks.amazonaws.com/nodegroup',
  'kubernetes.azure.com/agentpool',
  'compute.coreweave.com/node-pool',
];
