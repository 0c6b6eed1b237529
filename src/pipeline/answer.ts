/**
 * answer.take (request): executes and answers what a person in Slack pressed or asked. Slack itself was answered long
 * before; the request is in the store and is taken once.
 *
 * A decision takes the same path as in the API, with the same rights, the same functions and the same name in the
 * audit. The decision and its answer are one commit. The answer is sent at most once: it informs one person about what
 * everybody can see.
 */
import { exhaustionDayOf } from '../core/budget/exhaustion.js';
import { actorText } from '../core/actor.js';
import { replyOf, type Act, type Message } from '../core/alert/message.js';
import type { Alert } from '../core/alert/alert.js';
import { effectToJson } from '../core/action/action.js';
import { Failure } from '../core/errors.js';
import { isMuted, MUTE_DAYS, muteOf } from '../core/alert/routes.js';
import { DAY_MS, formatInstant } from '../core/time.js';
import { MAKE_ITEM } from '../store/alert/alerts.js';
import { lackingOf } from '../store/budget/budgets.js';
import type { Transaction } from '../store/database.js';
import type { Principal } from '../store/access/keys.js';
import { muteAlerts } from '../application/alert/set-alert.js';
import { approveAction, rejectAction } from '../application/action/set-action.js';
import { ANSWER, type SlackQuestion, type SlackRequest } from '../store/alert/slack-desk.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import type { Channels, NotificationOptions } from './alert.js';
import { reachingStage, type Stage } from './stage.js';

type Needed = Parameters<typeof approveAction>[0] &
  Pick<Stores, 'db' | 'alerts' | 'alertSettings' | 'audit' | 'budgets' | 'organisations' | 'slackDesk'>;

export function answerStage(stores: Needed, channels: Channels, options: NotificationOptions): Stage {
  return reachingStage(ANSWER, async ({ organisation, key, now }) => {
    const workItems = await new Answering(stores, channels, options, organisation, now).take(key);
    return async () => workItems;
  });
}

type Pressed = Extract<SlackQuestion, { readonly kind: 'press' }>;

/** The role that decides, as at the API. */
const DECIDES = 'approve';
const MOST_LISTED = 10;

class Answering {
  constructor(
    private readonly stores: Needed,
    private readonly channels: Channels,
    private readonly options: NotificationOptions,
    private readonly organisation: string,
    private readonly now: number,
  ) {}

  async take(digest: string): Promise<readonly WorkItem[]> {
    const { db, slackDesk } = this.stores;
    const request = await slackDesk.request(db, this.organisation, digest);
    if (request === null) return [];
    const { reply, workItems } =
      request.reply === null ? await this.work(request) : { reply: request.reply, workItems: [] };
    const connection = this.channels.get('slack');
    if (
      reply !== null &&
      connection?.answer !== undefined &&
      (await slackDesk.reply(db, this.organisation, digest, this.now))
    )
      await connection.answer(request.question.replyTo, reply).catch(() => undefined);
    return workItems;
  }

  /** Executes the request, and saves the answer in the same commit. */
  private async work({
    digest,
    question,
  }: SlackRequest): Promise<{ readonly reply: Message | null; readonly workItems: readonly WorkItem[] }> {
    const { db, slackDesk } = this.stores;
    const noted = (reply: Message): Promise<Message | null> =>
      db.transaction(async (tx) =>
        (await slackDesk.answer(tx, this.organisation, digest, reply, this.now)) ? reply : null,
      );
    if (question.kind === 'command') return { reply: await noted(await this.replyTo(question)), workItems: [] };
    try {
      return await db.transaction(async (tx) => {
        const { reply, workItems } = await this.press(tx, question);
        const isFirst = await slackDesk.answer(tx, this.organisation, digest, reply, this.now);
        return { reply: isFirst ? reply : null, workItems };
      });
    } catch (error) {
      if (!(error instanceof Failure) || error.kind === 'unavailable') throw error;
      const why = [error.message, ...error.problems.map(({ message }) => message)].join(', ');
      return { reply: await noted(replyOf({ title: this.options.texts.failed(why) })), workItems: [] };
    }
  }

  private async press(
    tx: Transaction,
    question: Pressed,
  ): Promise<{ readonly reply: Message; readonly workItems: readonly WorkItem[] }> {
    const { texts } = this.options;
    const { alerts, slackDesk } = this.stores;
    const who = await slackDesk.principal(tx, this.organisation, question, this.now);
    if (who === null) return { reply: this.stranger(question), workItems: [] };
    const alert = await alerts.get(tx, this.organisation, question.alert);
    if (alert === null) return { reply: replyOf({ title: texts.gone }), workItems: [] };
    const slack = `${question.workspace}/${question.user}`;
    if (question.act === 'mute') return { reply: await this.mute(tx, alert, who, slack), workItems: [] };
    if (!mayDecide(who, alert.team)) return { reply: replyOf({ title: texts.mayNot(alert.team) }), workItems: [] };
    // A second press, of the same person or of another: what was decided stays, and is said.
    if (alert.answer !== null) return { reply: replyOf({ title: texts.answered(alert.answer) }), workItems: [] };
    const what = await this.decide(tx, question.act, alert, who, slack);
    if (what === null) return { reply: replyOf({ title: texts.gone }), workItems: [] };
    const shown = await alerts.answer(
      tx,
      this.organisation,
      { id: alert.id },
      { what, by: who.name, at: formatInstant(this.now) },
    );
    return { reply: replyOf({ title: texts.decided[question.act] }), workItems: [...(shown ?? []), MAKE_ITEM] };
  }

  /**
   * Decides like the API and under the same name: a person who may not approve there may not approve here. Null: there
   * is nothing to decide.
   */
  private async decide(
    tx: Transaction,
    act: Exclude<Act, 'mute'>,
    { id, news, team }: Alert,
    who: Principal,
    slack: string,
  ): Promise<'approved' | 'rejected' | 'acknowledged' | null> {
    const { audit } = this.stores;
    const by = actorText({ kind: 'key', id: who.id, name: who.name });
    if (act === 'acknowledge') {
      await audit.audit(tx, this.organisation, by, 'alert.acknowledge', id, { team, slack });
      return 'acknowledged';
    }
    if (news.kind !== 'approval') return null;
    const action =
      act === 'approve'
        ? await approveAction(this.stores, tx, this.organisation, news.action, by, this.now)
        : await rejectAction(this.stores, tx, this.organisation, news.action, '', by, this.now);
    await audit.audit(tx, this.organisation, by, `action.${act}`, action.id, {
      team: action.team,
      target: action.target,
      effect: action.effect.kind,
      action: action.id,
      slack,
    });
    return act === 'approve' ? 'approved' : 'rejected';
  }

  /** As the API does it: for all teams only who is restricted to none. Twice is as once. */
  private async mute(tx: Transaction, alert: Alert, who: Principal, slack: string): Promise<Message> {
    const { texts } = this.options;
    const { alertSettings, audit } = this.stores;
    if (!who.scopes.includes('configure') || !sees(who, alert.team))
      return replyOf({ title: texts.mayNotMute(alert.team) });
    const wish = {
      ...muteOf(alert),
      until: formatInstant(this.now + MUTE_DAYS * DAY_MS),
      reason: `Slack, ${alert.id}`,
    };
    const held = (await alertSettings.mutes(tx, this.organisation, this.now)).find((mute) =>
      isMuted([mute], alert, this.now),
    );
    if (held === undefined) {
      const by = actorText({ kind: 'key', id: who.id, name: who.name });
      const { id } = await muteAlerts(this.stores, tx, this.organisation, { ...wish, by }, this.now);
      await audit.audit(tx, this.organisation, by, 'alert.mute', id, { ...wish, slack });
    }
    return replyOf({ title: texts.muted(held ?? wish) });
  }

  private stranger({ workspace, user }: SlackQuestion): Message {
    const { texts } = this.options;
    return replyOf({ title: texts.notConnected, lines: [texts.howToConnect(workspace, user)] });
  }

  /** The answer to a slash command: what the person may see, and nothing else. */
  private async replyTo(question: Extract<SlackQuestion, { readonly kind: 'command' }>): Promise<Message> {
    const { texts } = this.options;
    const { db, slackDesk } = this.stores;
    const who = await slackDesk.principal(db, this.organisation, question, this.now);
    if (who === null) return this.stranger(question);
    if (!who.scopes.includes('read')) return replyOf({ title: texts.failed('this needs the scope read') });
    const [verb = '', name = null, ...more] = question.text.trim().split(/\s+/);
    const asked = verb.toLowerCase();
    if (more.length > 0 || (name !== null && !asked.startsWith('budget'))) return replyOf({ title: texts.help });
    switch (asked) {
      case 'status':
        return this.status(who);
      case 'budget':
      case 'budgets':
        return this.budgets(who, name);
      case 'actions':
        return this.actions(who);
      default:
        return replyOf({ title: texts.help });
    }
  }

  private async status(who: Principal): Promise<Message> {
    const { db, alerts, actions, organisations } = this.stores;
    const states = await this.states(who);
    const teams = (await organisations.activeTeams(db, this.organisation)).filter((team) => sees(who, team));
    const waiting = await actions.list(this.organisation, { state: 'proposed', teams: who.teams }, null, 1000);
    return replyOf(
      this.options.texts.status({
        teams: teams.length,
        open: await alerts.countOpen(db, this.organisation, who.teams),
        waiting: waiting.length,
        over: states.filter(({ state }) => state.ratio !== null && state.ratio >= 1).length,
        budgets: states.length,
      }),
    );
  }

  /** @param name a budget's or a team's id; null: all */
  private async budgets(who: Principal, name: string | null): Promise<Message> {
    const isMeant = (id: string): boolean => name === null || id.toLowerCase() === name.toLowerCase();
    const states = (await this.states(who)).filter(({ budget, team }) => isMeant(budget) || isMeant(team));
    if (name !== null && states.length === 0) return replyOf({ title: this.options.texts.noSuchBudget(name) });
    const lines = states
      .map(({ budget, team, state }) => ({
        name: budget,
        team,
        spent: state.spent,
        planned: state.planned,
        currency: state.currency,
        ratio: state.ratio,
        exhaustionDay: exhaustionDayOf(state),
        lacking: lackingOf(state),
        setAside: state.setAside ?? [],
        unpricedGpuHours: state.unpricedGpuHours,
        hasUnpriced: (state.unpriced ?? []).length > 0,
      }))
      .sort((a, b) => (b.ratio ?? 0) - (a.ratio ?? 0));
    return replyOf(this.options.texts.budgets(lines.slice(0, MOST_LISTED), lines.length - MOST_LISTED));
  }

  private async actions(who: Principal): Promise<Message> {
    const found = await this.stores.actions.list(
      this.organisation,
      { state: 'proposed', teams: who.teams },
      null,
      1000,
    );
    const lines = found.map(({ action: { id, team, effect, expiresAt } }) => ({
      id,
      team,
      effect: effectToJson(effect),
      expiresAt: formatInstant(expiresAt),
    }));
    return replyOf(this.options.texts.actions(lines.slice(0, MOST_LISTED), lines.length - MOST_LISTED));
  }

  private async states(who: Principal) {
    const { db, budgets, organisations } = this.stores;
    const asOf = await organisations.asOf(db, this.organisation, this.now);
    return (await budgets.states(this.organisation, asOf)).filter(({ team }) => sees(who, team));
  }
}

const sees = ({ teams }: Principal, team: string | null): boolean =>
  teams === null || (team !== null && teams.includes(team));

const mayDecide = (who: Principal, team: string | null): boolean => who.scopes.includes(DECIDES) && sees(who, team);
