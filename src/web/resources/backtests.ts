/**
 * /v1/backtests: a policy run over the recorded history of its teams. Requested here, run by the line, read here:
 * progress, report, picture.
 *
 * A key that is restricted to teams requests and sees only backtests on the history of these teams.
 */
import { Controller, Header, Res, type BeforeApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { BacktestReport } from '../../core/policy/backtest.js';
import { checkWindow } from '../../core/policy/backtest-window.js';
import { denied, invalid, missing, type Problem } from '../../core/errors.js';
import { checkPolicyDocument, type PolicyDocument } from '../../core/policy/document.js';
import type { StoredBacktest } from '../../store/policy/backtests.js';
import { backtestEvents } from '../backtest-events.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuerySchema, pageSchema, rowId, type Page, type PageQuery } from '../pages.js';
import { EventStreams } from '../streams.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { isFor } from './policies.js';

const name = z.string().min(1).max(200);
const idSchema = z.string().regex(/^\d{1,18}$/, 'is not the id of a backtest');
const orderSchema = z
  .strictObject({
    policy: z
      .union([name, z.record(z.string(), z.unknown())])
      .describe('The name of a current document, or a document as for /v1/policies/validate'),
    from: z.string().max(40).describe('First day or hour'),
    to: z.string().max(40).describe('Exclusive end; not later than the recorded data'),
    teams: z
      .array(name)
      .min(1)
      .max(1000)
      .optional()
      .describe("Teams whose history is used; default: the document's teams"),
  })
  .meta({ id: 'BacktestOrder' });
type Order = z.infer<typeof orderSchema>;

const status = z.enum(['queued', 'running', 'done', 'failed']);
const teams = z.union([z.literal('*'), z.array(z.string())]);
const fields = {
  id: z.string(),
  status,
  progress: z.number().min(0).max(1),
  document: z
    .looseObject({ name: z.string(), policy: z.string(), params: z.record(z.string(), z.unknown()) })
    .describe('As it was when the backtest was requested'),
  teams,
  from: z.string(),
  to: z.string(),
  madeBy: z.string(),
  madeAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
  error: z
    .strictObject({
      message: z.string(),
      problems: z.array(z.strictObject({ path: z.string().nullable(), message: z.string() })),
    })
    .nullable(),
};
const storedSchema = z.strictObject(fields).meta({ id: 'Backtest' });
const measured = z.looseObject({
  name: z.string(),
  meanShare: z.number().nullable().describe("Share of the optimum's saving; null if no optimum is known"),
});
const reportSchema = z
  .strictObject({
    problem: z.literal('policy'),
    settings: z.record(z.string(), z.unknown()),
    cells: z.array(
      z.strictObject({
        name: z.string(),
        count: z.int().describe('Series, resources or workloads, including those that are in no figure'),
        policies: z.array(measured),
        unknown: z
          .array(z.strictObject({ name: z.string(), why: z.string() }))
          .optional()
          .describe('What is in no figure, because its cost is unknown'),
        series: z
          .strictObject({ from: z.string(), stepHours: z.number(), costs: z.record(z.string(), z.array(z.number())) })
          .optional()
          .describe('Cost of each step, per policy'),
      }),
    ),
    mean: z.array(measured),
  })
  .meta({ id: 'BacktestReport', description: 'As bursar backtest --json prints it' });
const detailSchema = z
  .strictObject({ ...fields, result: reportSchema.nullable().describe('Once it is done') })
  .meta({ id: 'BacktestDetail' });

/** A picture opened by itself: its own styles, and nothing else. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

@Controller()
export class BacktestsController implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();
  private readonly streams = new EventStreams();

  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/backtests', {
    summary: 'Run a policy over recorded history',
    description:
      'The line runs it: the answer names the backtest, and its Location shows the progress. A finished backtest lets the policy enforce on these teams.',
    access: 'configure',
    writes: true,
    status: 202,
    answer: storedSchema,
  })
  async order(
    @Calling() caller: Caller,
    @JsonBody(orderSchema) body: Order,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StoredBacktest> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const [{ document, problems }, { window, problems: late }] = [
      await this.documentOf(caller, body),
      checkWindow(body, await stores.organisations.asOf(stores.db, organisation, clock.now())),
    ];
    if (document === null || window === null) throw wrong([...problems, ...late]);
    const over = body.teams === undefined ? document.teams : [...new Set(body.teams)];
    checkTeams(caller, over);
    const ordered = await write(stores, caller, 'backtest.order', async (tx) => {
      const stored = await stores.backtests.order(
        tx,
        organisation,
        { document, teams: over, ...window },
        actorOf(caller),
        clock.now(),
      );
      return {
        body: stored,
        target: document.name,
        detail: { backtest: stored.id, policy: document.policy, teams: over, from: stored.from, to: stored.to },
      };
    });
    reply.header('location', `/v1/backtests/${ordered.id}`);
    return ordered;
  }

  @Endpoint('GET /v1/backtests', {
    summary: 'List backtests, newest first',
    access: 'read',
    answer: pageSchema(storedSchema),
  })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredBacktest>> {
    const { stores } = this.parts;
    return pageOf(
      query,
      ({ id }) => id,
      (after, limit) => stores.backtests.list(stores.db, principal.organisation, principal.teams, rowId(after), limit),
    );
  }

  @Endpoint('GET /v1/backtests/:id', {
    summary: 'Get a backtest, with its report once it is done',
    access: 'read',
    answer: detailSchema,
  })
  async get(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
  ): Promise<StoredBacktest & { readonly result: BacktestReport | null }> {
    const stored = await this.known(caller, id);
    return {
      ...stored,
      result: await this.parts.stores.backtests.result(this.parts.stores.db, caller.principal.organisation, id),
    };
  }

  @Endpoint('GET /v1/backtests/:id/plot.svg', {
    summary: "A finished backtest's picture, SVG",
    access: 'read',
    answer: { media: 'image/svg+xml' },
  })
  @Header('content-type', 'image/svg+xml; charset=utf-8')
  @Header('content-security-policy', PICTURE_POLICY)
  svg(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<Buffer> {
    return this.picture(caller, id, 'svg');
  }

  @Endpoint('GET /v1/backtests/:id/plot.png', {
    summary: "A finished backtest's picture, PNG",
    access: 'read',
    answer: { media: 'image/png' },
  })
  @Header('content-type', 'image/png')
  png(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<Buffer> {
    return this.picture(caller, id, 'png');
  }

  @Endpoint('GET /v1/backtests/:id/events', {
    summary: 'Progress of a backtest, as server-sent events',
    description: 'progress with every change, done at the end, which closes the stream.',
    access: 'read',
    answer: { media: 'text/event-stream' },
  })
  @Header('content-type', 'text/event-stream; charset=utf-8')
  @Header('x-accel-buffering', 'no')
  // A kept-alive stream would delay shutdown, which closes only connections that are idle when it begins.
  @Header('connection', 'close')
  async events(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<Readable> {
    const { stores } = this.parts;
    await this.known(caller, id);
    const { organisation } = caller.principal;
    return this.streams.count(caller, () =>
      Readable.from(
        backtestEvents(() => stores.backtests.get(stores.db, organisation, id), this.closing.signal),
        { objectMode: false },
      ),
    );
  }

  /** Streams end first: the server waits for open requests. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }

  private async documentOf(
    caller: Caller,
    { policy }: Order,
  ): Promise<{ readonly document: PolicyDocument | null; readonly problems: readonly Problem[] }> {
    const { stores, policies = [] } = this.parts;
    if (typeof policy === 'string') {
      const all = await stores.policies.list(stores.db, caller.principal.organisation, policies);
      // A caller who may not read a document gets no backtest of it either, since a backtest shows all of it.
      const found = all.find((one) => one.name === policy && isFor(caller, one));
      if (found === undefined)
        return {
          document: null,
          problems: [{ path: 'policy', message: `there is no policy document with the name ${policy}` }],
        };
      const { name: own, policy: part, teams: over, mode, params, priority } = found;
      return { document: { name: own, policy: part, teams: over, mode, params, priority }, problems: [] };
    }
    const { document, problems } = checkPolicyDocument(policy, policies);
    return {
      document,
      problems: problems.map(({ path, message }) => ({ path: path === null ? 'policy' : `policy/${path}`, message })),
    };
  }

  private async known(caller: Caller, id: string): Promise<StoredBacktest> {
    const { stores } = this.parts;
    const found = await stores.backtests.get(stores.db, caller.principal.organisation, id);
    if (found === null) throw missing(`there is no backtest ${id}`);
    checkTeams(caller, found.teams);
    return found;
  }

  private async picture(caller: Caller, id: string, format: 'svg' | 'png'): Promise<Buffer> {
    const { stores, plotter } = this.parts;
    const { status: stands } = await this.known(caller, id);
    const report = await stores.backtests.result(stores.db, caller.principal.organisation, id);
    if (report === null) throw missing(`there is no picture of a backtest that is ${stands}`);
    if (plotter === undefined) throw missing('this process draws no pictures');
    return Buffer.from(await plotter.plot(report, format));
  }
}

const wrong = (problems: readonly Problem[]): Error =>
  invalid(`the request has ${problems.length} problem(s)`, problems);

/** @throws Failure denied where the key is not for all of the teams. */
function checkTeams(caller: Caller, over: readonly string[] | '*'): void {
  if (over === '*' && caller.principal.teams !== null)
    throw denied('this backtest is on the history of all teams; this key is restricted to some');
  if (over !== '*') for (const team of over) checkTeam(caller, team);
}
