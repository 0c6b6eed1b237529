/**
 * /v1/reports: the newest version of each monthly report, in the reader's format and language. A request for a new one
 * goes to the line.
 */
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SILENCES } from '../../core/alert/alert.js';
import { missing } from '../../core/errors.js';
import {
  formatFor,
  LANGUAGES,
  readerFor,
  readerOf,
  REPORT_FORMATS,
  type ReportFormat,
} from '../../core/report/reader.js';
import type { ReportTime } from '../../core/report/schedule.js';
import type { StoredReport } from '../../store/report/reports.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { teamId } from './teams.js';

const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'is not a month: write 2026-10');
const bodySchema = z.strictObject({ team: teamId, month }).meta({ id: 'ReportRequest' });
const requestedSchema = z
  .strictObject({ team: z.string(), month: z.string(), requested: z.literal(true) })
  .meta({ id: 'ReportRequested' });
const listSchema = z.strictObject({ ...pageQuery, team: teamId.optional(), month: month.optional() });
const querySchema = z.strictObject({
  format: z.enum(REPORT_FORMATS).optional().describe('Otherwise what Accept names; png is the main picture alone'),
  lang: z.enum(LANGUAGES).optional().describe('Otherwise what Accept-Language names'),
});
const reportSchema = z
  .strictObject({
    team: z.string(),
    month: z.string(),
    zone: z.string().describe('IANA zone in which the month begins'),
    currency: z.string(),
    total: z.string().nullable().describe('Decimal string; null: nothing has a price'),
    isOver: z.boolean().describe('false: it was made before the month was over'),
    madeAt: z.iso.datetime(),
    announcedAt: z.iso.datetime().nullable().describe('When it was passed to the alerts'),
    silence: z
      .enum(SILENCES)
      .nullable()
      .describe('Why its alert was sent to nobody; null: it was sent, or there is none'),
  })
  .meta({ id: 'ReportEntry' });
const scheduleSchema = z
  .strictObject({
    day: z.int().min(1).max(28).describe('Day of the following month, 1 to 28; 4 unless set'),
    hour: z.int().min(0).max(23).describe("Hour of that day in the team's zone, 0 to 23; 0 unless set"),
  })
  .meta({ id: 'ReportSchedule', description: 'When the report of a month is made and sent' });

type Body = z.infer<typeof bodySchema>;

/** Inline style and inline pictures, and nothing else: a report runs no script and loads nothing. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox";
const PLACE = /^\d{4}-\d{2} .{1,200}$/s;

@Controller()
export class ReportsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/reports', {
    summary: 'List monthly reports, newest month first',
    description: 'A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: pageSchema(reportSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(listSchema) query: z.infer<typeof listSchema>,
  ): Promise<Page<StoredReport>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    return pageOf<StoredReport>(
      query,
      (one) => `${one.month} ${one.team}`,
      (after, limit) => {
        if (after !== null && !PLACE.test(after)) throw notACursor();
        return this.parts.stores.reports.list(
          organisation,
          { team: query.team, month: query.month, teams },
          after,
          limit,
        );
      },
    );
  }

  @Endpoint('GET /v1/reports/schedule', {
    summary: 'When monthly reports are made',
    description: 'To whom they are sent: the alert routes of the kind digest.',
    access: 'read',
    answer: scheduleSchema,
  })
  async schedule(@Calling() { principal }: Caller): Promise<ReportTime> {
    const { stores } = this.parts;
    return stores.reports.time(stores.db, principal.organisation);
  }

  @Endpoint('PUT /v1/reports/schedule', {
    summary: 'Set when monthly reports are made',
    description:
      'For all teams, each in its own zone. A report that is already sent is not sent again. Late usage and bills come in the first days of a month: an earlier report may lack them.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: scheduleSchema,
  })
  async setSchedule(@Calling() caller: Caller, @JsonBody(scheduleSchema) time: ReportTime): Promise<ReportTime> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'report.schedule', async (tx) => {
      const before = await stores.reports.time(tx, organisation);
      await stores.reports.saveTime(tx, organisation, time);
      return { body: time, target: 'report-schedule', detail: { before, after: time } };
    });
  }

  @Endpoint('GET /v1/reports/:team/:month', {
    summary: "Get a team's report of a month",
    description:
      'As HTML, PDF, CSV, XLSX, JSON (the model itself) or PNG, in English or Chinese: by ?format= and ?lang=, otherwise by Accept and Accept-Language. It covers the team and every team below it.',
    access: 'read',
    answer: { media: '*/*' },
  })
  async get(
    @Calling() caller: Caller,
    @PathInput('team', teamId) team: string,
    @PathInput('month', month) of: string,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    checkTeam(caller, team);
    const { stores, reports } = this.parts;
    const report = await stores.reports.known(stores.db, caller.principal.organisation, team, of);
    const format = query.format ?? formatFor(request.headers.accept);
    const renderer = reports?.get(format);
    if (renderer === undefined) throw missing(`this process writes no ${format}`);
    const bytes = await renderer.render(
      report,
      query.lang === undefined ? readerFor(request.headers['accept-language']) : readerOf(query.lang),
    );
    void reply.headers({
      'content-type': renderer.media,
      'content-disposition': dispositionOf(format, team, of),
      vary: 'accept, accept-language',
    });
    if (format === 'html') void reply.header('content-security-policy', PAGE_POLICY);
    return Buffer.from(bytes);
  }

  @Endpoint('POST /v1/reports', {
    mayBeMissing: true,
    summary: 'Request a report',
    description: 'The line soon makes it, again if there is one already; GET returns it then.',
    access: 'configure',
    writes: true,
    answer: requestedSchema,
  })
  async request(@Calling() caller: Caller, @JsonBody(bodySchema) body: Body): Promise<z.infer<typeof requestedSchema>> {
    const { stores, clock } = this.parts;
    checkTeam(caller, body.team);
    return write(stores, caller, 'report.request', async (tx) => {
      await stores.reports.request(tx, caller.principal.organisation, body.team, body.month, clock.now());
      return { body: { ...body, requested: true }, target: `${body.team}/${body.month}` };
    });
  }
}

/** Formats for programs other than a browser. */
const SAVED: ReadonlySet<ReportFormat> = new Set(['pdf', 'csv', 'xlsx']);

/** RFC 6266: pages and pictures are shown, other formats saved; a name that is not ASCII is encoded. */
function dispositionOf(format: ReportFormat, team: string, of: string): string {
  const name = `${team}-${of}.${format}`;
  const plain = name.replace(/[^\w.-]/g, '_');
  return `${SAVED.has(format) ? 'attachment' : 'inline'}; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)}`;
}
