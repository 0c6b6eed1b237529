/**
 * The names of Google Cloud's targets: `instance/ml-prod/us-central1-a/4711`, `mig/ml-prod/us-central1/trainers`,
 * `commitment/ml-prod/us-central1/gpus-2026`.
 *
 * An instance is identified by its number, which never changes: a managed instance group reuses the name of a
 * terminated machine for its replacement. A group's place is a zone or a region.
 */
export interface GcpTarget {
  readonly kind: 'instance' | 'mig';
  readonly project: string;
  /** A zone; of a group, perhaps a region. */
  readonly place: string;
  /** An instance's number, a group's name. */
  readonly id: string;
}

export const instanceTarget = (project: string, zone: string, id: string): string =>
  `instance/${project}/${zone}/${id}`;
export const groupTarget = (project: string, place: string, name: string): string => `mig/${project}/${place}/${name}`;
export const commitmentTarget = (project: string, region: string, name: string): string =>
  `commitment/${project}/${region}/${name}`;

const TARGET = /^(instance|mig)\/((?:[a-z0-9.-]+:)?[a-z0-9-]+)\/([a-z0-9-]+)\/([a-z0-9-]+)$/;

/** Null if the text names no instance or group of Google Cloud. */
export function parseTarget(target: string): GcpTarget | null {
  const [, kind, project = '', place = '', id = ''] = TARGET.exec(target) ?? [];
  return kind === 'instance' || kind === 'mig' ? { kind, project, place, id } : null;
}

/** `us-central1` of `us-central1-a`, and of itself. */
export const regionOf = (place: string): string => place.replace(/-[a-z]$/, '');

export const isZone = (place: string): boolean => /-[a-z]$/.test(place);

/** The last part of a resource's address: `a2-highgpu-1g` of `.../zones/us-central1-a/machineTypes/a2-highgpu-1g`. */
export const lastOf = (address: string): string => address.slice(address.lastIndexOf('/') + 1);

/** The part of a resource's address after a word: its zone after `zones`, its region after `regions`; null: none. */
export function partOf(address: string, word: string): string | null {
  const parts = address.split('/');
  const at = parts.indexOf(word);
  return at < 0 ? null : (parts[at + 1] ?? null);
}

const OWN = 'bursar-io_';

/**
 * Google's labels take neither points, slashes nor capitals (Resource Manager, "Labels overview"): in what begins with
 * `bursar-io_` that stands for `bursar.io/`, `20261122t060000z` for an instant and `0_5` for a half.
 */
export function plainLabels(labels: Readonly<Record<string, string>> | null | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels ?? {}).map(([key, value]): [string, string] =>
      key.startsWith(OWN)
        ? [
            `bursar.io/${key.slice(OWN.length)}`,
            /^\d{8}t\d{6}z$/.test(value) ? value.toUpperCase() : value.replace(/^(\d+)_(\d+)$/, '$1.$2'),
          ]
        : [key, value],
    ),
  );
}

/** Under it a target says its project; no label of Google's has a colon. */
export const PROJECT_LABEL = 'google:project';
