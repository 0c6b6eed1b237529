/**
 * What telling needs: alerts, once per identity; what was sent where, each with its token; conversations, pauses, marks
 * and mutes; anomalies that were found; and what came in from Slack. Expands only.
 *
 * Three invariants are the database's own: one alert per identity, one message per alert and place, one conversation
 * per thread and place.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table alert (
  organisation text not null, id text not null, no bigint generated always as identity, identity text not null, kind text not null, team text,
  severity text not null check (severity in ('info', 'warning', 'critical')), thread text not null, news jsonb not null, picture bytea,
  state text not null check (state in ('new', 'silent', 'open', 'answered', 'told')), silence text, answered_as text, answered_by text, answered_at timestamptz,
  level int not null default 0, revision int not null default 0, made_at timestamptz not null,
  primary key (organisation, id), check ((state = 'silent') = (silence is not null)), check ((state = 'answered') = (answered_as is not null))
);
create unique index alert_identity on alert (organisation, identity);
create index alert_list on alert (organisation, no);
create table alert_delivery (
  organisation text not null, id text not null, alert text not null, channel text not null, address text not null default '', part text not null check (part in ('message', 'picture')),
  level int not null, token text not null, state text not null default 'waiting' check (state in ('waiting', 'sent', 'unknown', 'failed', 'dropped')),
  intended_at timestamptz not null, asked_at timestamptz, sent_at timestamptz, reference text, shown int, problem text,
  primary key (organisation, id), check ((state = 'sent') = (sent_at is not null))
);
create unique index alert_delivery_place on alert_delivery (organisation, alert, channel, address, part);
create table alert_thread (
  organisation text not null, channel text not null, address text not null, thread text not null, opener text not null, reference text,
  primary key (organisation, channel, address, thread)
);
create table alert_pace (
  organisation text not null, channel text not null, address text not null, next_at timestamptz not null,
  primary key (organisation, channel, address)
);
create table alert_mark (
  organisation text not null, name text not null, at timestamptz, value text,
  primary key (organisation, name)
);
create table alert_mute (
  organisation text not null, id text not null, team text, kind text, thread text, until timestamptz not null, reason text not null, made_by text not null, made_at timestamptz not null,
  primary key (organisation, id)
);
create table anomaly (
  organisation text not null, id bigint generated always as identity, identity text not null, team text, news jsonb not null, found_at timestamptz not null,
  primary key (organisation, id)
);
create unique index anomaly_identity on anomaly (organisation, identity);
create index anomaly_found on anomaly (organisation, found_at);
create table slack_user (
  organisation text not null, workspace text not null, slack_user text not null, api_key text not null, made_by text not null, made_at timestamptz not null,
  primary key (organisation, workspace, slack_user)
);
create table slack_request (
  organisation text not null, digest text not null, question jsonb not null, received_at timestamptz not null, reply jsonb, done_at timestamptz, replied_at timestamptz,
  primary key (organisation, digest)
);
create index slack_request_at on slack_request (organisation, received_at);
create index crossing_at on crossing (organisation, crossed_at);
create index action_event_at on action_event (organisation, at);
create index health_finding_opened on health_finding (organisation, opened_at);
create index variance_finding_seen on variance_finding (organisation, seen_at);`;

export class Telling1764000000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index variance_finding_seen, health_finding_opened, action_event_at, crossing_at`);
    await runner.query(
      `drop table slack_request, slack_user, anomaly, alert_mute, alert_mark, alert_pace, alert_thread, alert_delivery, alert`,
    );
  }
}
