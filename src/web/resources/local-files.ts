/**
 * /v1/local: files of this machine, read in place instead of being sent. Only in an application that does not listen
 * (in-process.ts): no other caller may name a path.
 *
 * All files of a call are one delivery, as in /v1/deliveries: all are imported, or none.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Failure, type Problem } from '../../core/errors.js';
import type { ImportedFile, ImportedPrices, Importer, ImportOptions, Input } from '../../core/ports.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { billQuerySchema, importedSchema } from './imports.js';
import { priceListSchema } from './prices.js';

const bodySchema = z
  .strictObject({
    paths: z.array(z.string().min(1)).min(1),
    format: billQuerySchema.shape.format,
    source: billQuerySchema.shape.source,
    strict: z.boolean(),
    dryRun: z.boolean(),
    replace: z.boolean(),
  })
  .meta({ id: 'LocalFiles' });
type Body = z.infer<typeof bodySchema>;

@Controller()
export class LocalFilesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/local/imports', {
    summary: 'Import files of this machine',
    access: 'usage:write',
    allTeams: true,
    mostBodyBytes: 16 << 20,
    answer: z.strictObject({ files: z.array(importedSchema) }),
  })
  async imports(@Calling() caller: Caller, @JsonBody(bodySchema) body: Body): Promise<{ files: ImportedFile[] }> {
    const { stores, importer, administrator } = this.parts;
    const files = await withFiles(importer, body.paths, (inputs) =>
      importer.files(inputs, optionsOf(caller, body), administrator?.progress),
    );
    if (!body.dryRun)
      await stores.audit.audit(
        stores.db,
        caller.principal.organisation,
        actorOf(caller),
        'usage.import',
        body.paths.join(' '),
        { files: files.map(({ import: id, accepted, rejected }) => ({ import: id, accepted, rejected })) },
      );
    return { files };
  }

  @Endpoint('POST /v1/local/prices', {
    summary: 'Import price lists of this machine',
    access: 'configure',
    allTeams: true,
    mostBodyBytes: 16 << 20,
    answer: z.strictObject({ files: z.array(priceListSchema) }),
  })
  async prices(@Calling() caller: Caller, @JsonBody(bodySchema) body: Body): Promise<{ files: ImportedPrices[] }> {
    const { stores, importer } = this.parts;
    const lists = await withFiles(importer, body.paths, (inputs) => importer.prices(inputs, optionsOf(caller, body)));
    const files = lists.map((list) => ({ ...list, rejects: [] }));
    if (!body.dryRun)
      await stores.audit.audit(
        stores.db,
        caller.principal.organisation,
        actorOf(caller),
        'price.import',
        body.paths.join(' '),
        { lists: files.map(({ format, accepted, rejected }) => ({ format, accepted, rejected })) },
      );
    return { files };
  }
}

const optionsOf = (caller: Caller, { format, source, strict, dryRun, replace }: Body): ImportOptions => ({
  organisation: caller.principal.organisation,
  by: actorOf(caller),
  format,
  source,
  strict,
  dryRun,
  replace,
});

/**
 * Opens the files, hands them to `use`, and always closes them.
 * @throws Failure missing or invalid, naming every file that cannot be opened
 */
async function withFiles<T>(
  importer: Importer,
  paths: readonly string[],
  use: (inputs: readonly Input[]) => Promise<T>,
): Promise<T> {
  const opened: Awaited<ReturnType<Importer['openFile']>>[] = [];
  const failures: Failure[] = [];
  try {
    for (const path of paths) {
      try {
        opened.push(await importer.openFile(path));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0)
      throw new Failure(
        failures.some(({ kind }) => kind === 'missing') ? 'missing' : 'invalid',
        'nothing was imported',
        failures.map(({ message }): Problem => ({ path: null, message })),
      );
    return await use(opened);
  } finally {
    await Promise.all(opened.map((input) => input.close()));
  }
}
