/**
 * An alert and its deliveries in the form that every entry point shows. Contains no secret.
 */
import type { Alert, News } from '../../core/alert/alert.js';
import { ENGLISH } from '../../core/alert/texts.js';
import { formatInstant } from '../../core/time.js';
import type { Delivery } from '../../store/alert/alerts.js';
import type { Stores } from '../../store/stores.js';

export interface AlertJson extends Omit<Alert, 'identity' | 'revision' | 'news'> {
  readonly title: string;
  readonly news: News;
}

export interface DeliveryJson extends Pick<Delivery, 'channel' | 'address' | 'part' | 'level' | 'state' | 'problem'> {
  /** ISO 8601. */
  readonly intendedAt: string;
  readonly sentAt: string | null;
}

export type AlertStory = AlertJson & { readonly deliveries: readonly DeliveryJson[] };

export const alertJson = ({
  id,
  kind,
  team,
  severity,
  news,
  state,
  silence,
  thread,
  answer,
  level,
  madeAt,
}: Alert): AlertJson => ({
  id,
  kind,
  team,
  severity,
  title: ENGLISH.content(news).title,
  state,
  silence,
  thread,
  answer,
  level,
  madeAt,
  news,
});

const deliveryJson = ({
  channel,
  address,
  part,
  level,
  state,
  intendedAt,
  sentAt,
  problem,
}: Delivery): DeliveryJson => ({
  channel,
  address,
  part,
  level,
  state,
  intendedAt: formatInstant(intendedAt),
  sentAt: sentAt === null ? null : formatInstant(sentAt),
  problem,
});

export async function alertStory(
  { db, alerts }: Pick<Stores, 'db' | 'alerts'>,
  organisation: string,
  alert: Alert,
): Promise<AlertStory> {
  return { ...alertJson(alert), deliveries: (await alerts.deliveries(db, organisation, alert.id)).map(deliveryJson) };
}
