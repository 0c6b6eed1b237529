/** The kinds of jobs that there are, and by which group, version and plural the API serves them. */

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
