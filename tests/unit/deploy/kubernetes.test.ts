/**
 * The manifests of deploy/kubernetes: they grant what the provider says that it needs, nothing beyond, and reading
 * apart from acting.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { provider } from '../../../src/providers/kubernetes/kubernetes.js';
import { ROOT } from '../../support/source.js';

interface Manifest {
  readonly kind: string;
  readonly rules?: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  readonly webhooks?: readonly {
    failurePolicy: string;
    sideEffects: string;
    admissionReviewVersions: string[];
    timeoutSeconds: number;
    clientConfig: { service: { path: string } };
    rules: { operations: string[]; resources: string[] }[];
    namespaceSelector: { matchExpressions: { values: string[] }[] };
  }[];
}

const manifests = (name: string): Manifest[] =>
  parseAllDocuments(readFileSync(path.join(ROOT, 'deploy/kubernetes', name), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  );

/** As the provider writes it: `deployments.apps`, `pods/eviction`, `jobs.batch/status`. */
const named = (resource: string, group: string): string => {
  const [name, ...sub] = resource.split('/');
  return [`${name}${group === '' ? '' : `.${group}`}`, ...sub].join('/');
};

/** With the verb: `patch deployments.apps`. */
const granted = (name: string): string[] =>
  manifests(name)
    .flatMap(({ kind, rules }) => (kind === 'ClusterRole' ? (rules ?? []) : []))
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${named(resource, group)}`)),
      ),
    )
    .sort();

const unique = (permissions: readonly (readonly string[] | null | undefined)[]): string[] =>
  [...new Set(permissions.flatMap((list) => list ?? []))].sort();

describe('the roles', () => {
  it('are what the provider declares', () => {
    const { fleet, usage, effects } = provider.abilities;
    expect(granted('rbac-read.yaml')).toEqual(unique([fleet, usage]));
    expect(granted('rbac-act.yaml')).toEqual(unique(Object.values(effects)));
  });
});

describe('the webhook', () => {
  it.each([
    ['webhook-fail-open.yaml', 'Ignore'],
    ['webhook-fail-closed.yaml', 'Fail'],
  ])('%s has the policy %s, and no side effects', (name, failurePolicy) => {
    const [webhook] = manifests(name).flatMap(({ webhooks }) => webhooks ?? []);
    expect(webhook).toMatchObject({
      failurePolicy,
      sideEffects: 'NoneOnDryRun',
      admissionReviewVersions: ['v1'],
      rules: [{ operations: ['CREATE'], resources: ['pods'] }],
    });
    expect(webhook?.clientConfig.service.path).toBe('/admission/v1/reviews/<key>');
    expect(webhook?.namespaceSelector.matchExpressions[0]?.values).toContain('kube-system');
    expect(webhook?.timeoutSeconds).toBeLessThanOrEqual(10);
  });

  it('differ by the choice alone', () => {
    const [open, closed] = ['webhook-fail-open.yaml', 'webhook-fail-closed.yaml'].map((name) =>
      JSON.stringify(manifests(name)),
    );
    expect(open?.replace('"Ignore"', '"Fail"')).toBe(closed);
  });
});
