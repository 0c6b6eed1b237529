/**
 * /v1/deliveries: a bill in several files, which counts once all of them are there.
 *
 * A delivery is opened, takes any number of files in any order, and is committed (imported at once, or not at all) or
 * discarded. A file whose upload was cut short is not part of it; sending it or all files again changes nothing else.
 */
import { Controller } from '@nestjs/common';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ImportedFile } from '../../core/ports.js';
import type { DeliveredFile, OpenDelivery } from '../../store/usage/deliveries.js';
import { withUpload } from '../body.js';
import { actorOf, type Caller, Calling, spreadOf } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { repeatable, write } from '../writes.js';
import { billQuerySchema, importedSchema, importQuery, uploadQuerySchema } from './imports.js';

const deliveryName = z.string().regex(/^[\w.:-]{1,200}$/, 'is not a name of 1 to 200 letters, digits and . _ : -');
const fileSchema = z
  .strictObject({
    file: z.string(),
    bytes: z.int().nonnegative(),
    sha256: z.string().describe('SHA-256 of the bytes sent'),
  })
  .meta({ id: 'DeliveredFile' });
const deliverySchema = z
  .strictObject({
    name: z.string(),
    source: z.string(),
    format: z.string(),
    openedAt: z.iso.datetime(),
    openedBy: z.string(),
    files: z.array(fileSchema),
  })
  .meta({ id: 'Delivery' });
const openSchema = z
  .strictObject({ format: uploadQuerySchema.shape.format, source: uploadQuerySchema.shape.source })
  .meta({ id: 'DeliveryTerms' });
const fileQuery = z.strictObject({
  filename: uploadQuerySchema.shape.filename,
  replace: z
    .stringbool()
    .default(false)
    .describe('true: replaces another file of this name; otherwise that is a conflict'),
});
const commitQuery = z.strictObject({ ...importQuery, replace: billQuerySchema.shape.replace });
const noBody = z.strictObject({}).nullish().describe('None: all parameters are in the query');
const importedFiles = z.strictObject({ files: z.array(importedSchema) });

@Controller()
export class DeliveriesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/deliveries', {
    summary: 'List open deliveries',
    access: 'read',
    allTeams: true,
    answer: z.strictObject({ deliveries: z.array(deliverySchema) }),
  })
  async list(@Calling() { principal }: Caller): Promise<{ deliveries: OpenDelivery[] }> {
    const { deliveries, db } = this.parts.stores;
    return { deliveries: await deliveries.list(db, principal.organisation) };
  }

  @Endpoint('PUT /v1/deliveries/:name', {
    summary: 'Open a delivery: files of one bill that are imported together',
    description: 'If it is already open, it stays open and keeps its files.',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    answer: deliverySchema,
  })
  async open(
    @Calling() caller: Caller,
    @PathInput('name', deliveryName) name: string,
    @JsonBody(openSchema) terms: z.infer<typeof openSchema>,
  ): Promise<OpenDelivery> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'delivery.open', async (tx) => {
      const asked = { name, ...terms };
      const { delivery, opened } = await stores.deliveries.open(tx, organisation, asked, actorOf(caller), clock.now());
      return { body: delivery, target: name, detail: terms, changedNothing: !opened };
    });
  }

  @Endpoint('POST /v1/deliveries/:name/files', {
    summary: 'Add a file to an open delivery',
    description: 'The body is the file. It does not count before the delivery is committed.',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    takes: 'upload',
    answer: fileSchema,
  })
  async add(
    @Calling() caller: Caller,
    @PathInput('name', deliveryName) name: string,
    @QueryInput(fileQuery) { filename, replace }: z.infer<typeof fileQuery>,
  ): Promise<DeliveredFile> {
    const { stores, clock, importer } = this.parts;
    const { organisation } = caller.principal;
    return withUpload(caller.request.body as Readable | undefined, filename, ({ path, digest }) => {
      caller.request.bodyDigest = digest;
      return repeatable(stores, caller, async () => {
        // Content that is no table or JSON is refused now, not when all files are there.
        await (await importer.openFile(path)).close();
        const content = createReadStream(path);
        const file = await stores.deliveries.add(organisation, name, filename, content, clock.now(), replace);
        await stores.audit.audit(stores.db, organisation, actorOf(caller), 'delivery.add', name, { ...file });
        return file;
      });
    });
  }

  @Endpoint('POST /v1/deliveries/:name/commit', {
    summary: 'Import the files of a delivery together, and close it',
    description: 'Either all of it is imported, or nothing; in that case the delivery stays open.',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    answer: importedFiles,
  })
  async commit(
    @Calling() caller: Caller,
    @PathInput('name', deliveryName) name: string,
    @QueryInput(commitQuery) options: z.infer<typeof commitQuery>,
    @JsonBody(noBody) _body: z.infer<typeof noBody>,
  ): Promise<{ files: ImportedFile[] }> {
    const { stores, importer } = this.parts;
    const { organisation } = caller.principal;
    return repeatable(stores, caller, async () => ({
      files: await importer.commit(name, { organisation, by: actorOf(caller), spread: spreadOf(caller), ...options }),
    }));
  }

  @Endpoint('DELETE /v1/deliveries/:name', {
    summary: 'Discard an open delivery and its files',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    answer: deliverySchema,
  })
  async discard(@Calling() caller: Caller, @PathInput('name', deliveryName) name: string): Promise<OpenDelivery> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'delivery.discard', async (tx) => {
      const body = await stores.deliveries.get(tx, organisation, name);
      await stores.deliveries.close(tx, organisation, name);
      return { body, target: name, detail: { files: body.files.map(({ file }) => file) } };
    });
  }
}
