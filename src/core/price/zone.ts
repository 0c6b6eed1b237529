/**
 * The region of a zone, by the cloud's own form of zone names. Price lists and spot readings name some places by zone;
 * data that stays within a region costs no egress.
 *
 * Nothing is guessed: a name of another form, or of another cloud, is a region of its own.
 */

/**
 * Amazon EC2 User Guide, "Regions and Zones" (`us-east-1a`); Compute Engine, "Regions and zones" (`us-central1-a`);
 * Alibaba Cloud ECS, "Regions and zones" (`cn-beijing-h`, `ap-southeast-1a`); Tencent Cloud CVM, "Regions and AZs"
 * (`ap-guangzhou-3`).
 */
const ZONES: Readonly<Record<string, RegExp>> = {
  AWS: /^([a-z]+(?:-[a-z]+)+-\d+)[a-z]$/,
  'Google Cloud': /^([a-z]+-[a-z]+\d+)-[a-z]$/,
  'Alibaba Cloud': /^([a-z]+-[a-z]+(?:-\d+(?=[a-z])|(?=-)))-?[a-z]$/,
  'Tencent Cloud': /^([a-z]+(?:-[a-z]+)+)-\d+$/,
};

/** Null: it is not the name of a zone. */
export const regionOfZone = (provider: string, place: string): string | null =>
  ZONES[provider]?.exec(place)?.[1] ?? null;

export const regionOfPlace = (provider: string, place: string): string => regionOfZone(provider, place) ?? place;
