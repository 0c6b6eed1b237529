/**
 * /v1/imports and /v1/rejects: bills as files, the result of each import, and the rows that could not be read.
 *
 * The body is the file. It is streamed to a temporary file and never held in memory.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ImportedFile } from '../../core/ports.js';
import type { StoredImport, StoredReject } from '../../store/usage/rejects.js';
import { undoImport, type UndoneImport } from '../../store/usage/undo.js';
import { withUpload } from '../body.js';
import { actorOf, type Caller, Calling, spreadOf } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuerySchema, pageSchema, rowId, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { repeatable, write } from '../writes.js';

/** Parameters that imports of every kind take. */
export const importQuery = {
  strict: z.stringbool().default(false).describe('true: one row that cannot be read makes the whole import fail'),
  dryRun: z.stringbool().default(false).describe('true: everything is read and counted, nothing is written'),
};

/** Only blanks, or blanks around it, are a mistake: it would be another source, with its own bills. */
export const sourceName = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => name.trim() === name, 'begins or ends with a blank');

export const uploadQuerySchema = z.strictObject({
  ...importQuery,
  filename: z
    .string()
    .regex(/^[^/\\\p{Cc}]{1,200}$/u, 'is not a file name of at most 200 characters')
    .refine((name) => Buffer.byteLength(name) <= 240, 'is longer than 240 bytes of UTF-8')
    .refine((name) => !/^\.+$/.test(name), 'is not a file name'),
  format: z.string().min(1).max(100).default('auto').describe("A format's name, or auto"),
  source: sourceName.default('default').describe('Names the origin; ids are unique within it'),
});

export type UploadQuery = z.infer<typeof uploadQuerySchema>;

export const billQuerySchema = uploadQuerySchema.extend({
  replace: z
    .stringbool()
    .default(false)
    .describe('true: a bill that another source has delivered is replaced; otherwise that is a conflict (409)'),
});

const count = z.int().nonnegative();
const billed = z.array(
  z.strictObject({ provider: z.string(), currency: z.string(), amount: z.string().describe('Exact, as in the bill') }),
);

const billOfPeriod = z.strictObject({
  provider: z.string(),
  account: z.string().nullable(),
  periodStart: z.string(),
  records: count,
});

export const importedSchema = z
  .strictObject({
    import: z.string().nullable().describe('Null for a dry run'),
    file: z.string(),
    format: z.string(),
    rows: count,
    accepted: count,
    rejected: count,
    unchanged: count,
    billed,
    replaced: z.array(billOfPeriod).describe('Bill periods that were restated'),
    removed: z
      .array(billOfPeriod)
      .describe(
        'Bill periods that earlier came together with one that is restated here, but are in none of these files',
      ),
    restated: count.describe('Records that replace an earlier statement of their id'),
    outdated: count.describe('Records that change nothing: a later statement of their id is already there'),
    warnings: z
      .array(z.string())
      .describe('Overlapping records of one GPU, and records that wait for their bill or are already there'),
    unknownColumns: z.array(z.string()),
  })
  .meta({ id: 'ImportedFile', description: 'rows = accepted + rejected + unchanged + outdated' });

const storedSchema = z
  .strictObject({
    id: z.string(),
    source: z.string(),
    file: z.string(),
    format: z.string(),
    rows: count,
    accepted: count,
    rejected: count,
    unchanged: count,
    billed,
    unknownColumns: z.array(z.string()),
    importedAt: z.iso.datetime(),
    importedBy: z.string(),
    warnings: z.array(z.string()),
    undoneAt: z.iso.datetime().nullable().describe('When it was undone'),
    undoneBy: z.string().nullable(),
  })
  .meta({ id: 'Import' });

const rejectSchema = z
  .strictObject({
    import: z.string(),
    no: z.int(),
    file: z.string(),
    line: z.int(),
    column: z.string().nullable(),
    reason: z.string(),
    raw: z.string().describe('The row as it came'),
  })
  .meta({ id: 'Reject' });

const undoneSchema = z
  .strictObject({
    import: z.string(),
    files: z.array(z.strictObject({ import: z.string(), file: z.string() })).describe('All files of the call'),
    records: count.describe('Removed records and bill lines'),
    restored: z.array(billOfPeriod).describe('Restored bills'),
    restoredRecords: count.describe('Records whose earlier statement counts again'),
    prices: count.describe('Prices that are withdrawn, or stated by an earlier list again'),
  })
  .meta({ id: 'UndoneImport' });

const importId = z.string().regex(/^\d{1,18}$/, 'is not the id of an import');

/** Runs `use` on the upload as an open Input, with the digest of its bytes. */
export function withInput<T>(
  { stores, importer }: WebParts,
  caller: Caller,
  name: string,
  use: (input: Awaited<ReturnType<typeof importer.openFile>>) => Promise<T>,
): Promise<T> {
  return withUpload(caller.request.body as AsyncIterable<Buffer> | undefined, name, ({ path, digest }) => {
    caller.request.bodyDigest = digest;
    return repeatable(stores, caller, async () => {
      const input = await importer.openFile(path);
      try {
        return await use(input);
      } finally {
        await input.close();
      }
    });
  });
}

@Controller()
export class ImportsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/imports', {
    summary: 'Import a bill or a file of usage',
    description:
      'The body is the file. Sending the same file again changes nothing; a restated bill replaces its period. A bill that another source has delivered is a conflict, unless replace is true.',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    takes: 'upload',
    answer: z.strictObject({ files: z.array(importedSchema) }),
  })
  async upload(
    @Calling() caller: Caller,
    @QueryInput(billQuerySchema) query: z.infer<typeof billQuerySchema>,
  ): Promise<{ files: ImportedFile[] }> {
    const { stores, importer } = this.parts;
    const { filename, ...options } = query;
    const { organisation } = caller.principal;
    return withInput(this.parts, caller, filename, async (input) => {
      const files = await importer.files([input], {
        organisation,
        by: actorOf(caller),
        spread: spreadOf(caller),
        ...options,
      });
      if (!options.dryRun) {
        await stores.audit.audit(stores.db, organisation, actorOf(caller), 'usage.import', filename, {
          files: files.map((file) => ({ import: file.import, accepted: file.accepted, rejected: file.rejected })),
        });
      }
      return { files };
    });
  }

  @Endpoint('GET /v1/imports', {
    summary: 'List imports, newest first',
    access: 'read',
    allTeams: true,
    answer: pageSchema(storedSchema),
  })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredImport>> {
    return pageOf(
      query,
      (item) => item.id,
      (after, limit) => this.parts.stores.rejects.imports(principal.organisation, rowId(after), limit),
    );
  }

  @Endpoint('POST /v1/imports/:id/undo', {
    summary: 'Undo a whole import',
    description:
      'Everything that its call brought is removed; bills and statements of records that it replaced are restored; prices that a price list stated are withdrawn. What changes is priced again.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: undoneSchema,
  })
  async undo(@Calling() caller: Caller, @PathInput('id', importId) id: string): Promise<UndoneImport> {
    const { stores, clock } = this.parts;
    return write(stores, caller, 'usage.undo', async (tx) => ({
      body: await undoImport(stores, tx, caller.principal.organisation, id, actorOf(caller), clock.now()),
      target: id,
    }));
  }

  @Endpoint('GET /v1/imports/:id/rejects', {
    summary: 'List rows of an import that could not be read',
    access: 'read',
    allTeams: true,
    answer: pageSchema(rejectSchema),
  })
  async rejectsOf(
    @Calling() { principal }: Caller,
    @PathInput('id', importId) id: string,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredReject>> {
    await this.parts.stores.rejects.checkImport(principal.organisation, id);
    return this.rejectPage(principal.organisation, id, query);
  }

  @Endpoint('GET /v1/rejects', {
    summary: 'List all rows that could not be read, newest import first',
    access: 'read',
    allTeams: true,
    answer: pageSchema(rejectSchema),
  })
  async rejects(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredReject>> {
    return this.rejectPage(principal.organisation, null, query);
  }

  private rejectPage(organisation: string, importOf: string | null, query: PageQuery): Promise<Page<StoredReject>> {
    return pageOf(
      query,
      (item) => `${item.import}/${item.no}`,
      (after, limit) => {
        const place = after === null ? null : /^(\d{1,18})\/(\d{1,9})$/.exec(after);
        if (after !== null && place === null) throw notACursor();
        return this.parts.stores.rejects.list(
          organisation,
          importOf,
          place === null ? null : { import: place[1] ?? '', no: Number(place[2]) },
          limit,
        );
      },
    );
  }
}
