/**
 * The names of AWS targets: `instance/us-east-1/i-0abc`, `asg/us-east-1/train-a100`, `commitment/us-east-1`; and those
 * of offers.
 *
 * The region is part of the name: names of groups repeat from region to region, and a call goes to one region.
 */
export type AwsTarget =
  | { readonly kind: 'instance'; readonly region: string; readonly id: string }
  | { readonly kind: 'asg'; readonly region: string; readonly name: string };

export const instanceTarget = (region: string, id: string): string => `instance/${region}/${id}`;
export const groupTarget = (region: string, name: string): string => `asg/${region}/${name}`;

const TARGET = /^(instance|asg)\/([a-z0-9-]+)\/(.+)$/;

/** Null if the text names no instance or group of AWS. */
export function parseTarget(target: string): AwsTarget | null {
  const [, kind, region = '', id = ''] = TARGET.exec(target) ?? [];
  if (kind === 'instance') return { kind, region, id };
  return kind === 'asg' ? { kind, region, name: id } : null;
}

export type AwsOffer =
  | { readonly kind: 'reserved-instance'; readonly region: string; readonly id: string }
  | { readonly kind: 'savings-plan'; readonly id: string };

export const reservedOffer = (region: string, id: string): string => `reserved-instance/${region}/${id}`;
export const savingsPlanOffer = (id: string): string => `savings-plan/${id}`;

const OFFER = /^(?:reserved-instance\/([a-z0-9-]+)|savings-plan)\/([\w-]+)$/;

/** Null if the text names no offer of AWS. */
export function parseOffer(offer: string): AwsOffer | null {
  const [, region, id] = OFFER.exec(offer) ?? [];
  if (id === undefined) return null;
  return region === undefined ? { kind: 'savings-plan', id } : { kind: 'reserved-instance', region, id };
}

/** Under this tag what Bursar made carries the token of the action that made it. */
export const TOKEN_TAG = 'bursar:token';

/** The tags of an instance or a group, as AWS spells them. */
export function labelsOf(
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined,
): Record<string, string> {
  return Object.fromEntries(
    (tags ?? []).flatMap(({ Key, Value }): [string, string][] => (Key === undefined ? [] : [[Key, Value ?? '']])),
  );
}

/** Tag by which Auto Scaling marks the members of a group. */
export const GROUP_TAG = 'aws:autoscaling:groupName';
