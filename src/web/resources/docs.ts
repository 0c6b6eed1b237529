/** /openapi.json and /docs: the API's description, for programs and for people. Made once, on first use. */
import { Controller, Header, Inject } from '@nestjs/common';
import { z } from 'zod';
import { DOCS_POLICY, docsPage } from '../docs-page.js';
import { Endpoint } from '../endpoint.js';
import { dashboardAssets, type Assets } from '../assets.js';
import type { OpenApiDocument } from '../openapi.js';
import { InjectParts, type WebParts } from '../parts.js';

/** Token of a function that makes the document. */
export const OPEN_API = Symbol('OpenApi');

@Controller()
export class DocsController {
  private document: OpenApiDocument | null = null;
  private html: string | null = null;

  private readonly assets: Assets;

  constructor(
    @Inject(OPEN_API) private readonly make: () => OpenApiDocument,
    @InjectParts() { dashboard }: WebParts,
  ) {
    this.assets = dashboardAssets(dashboard);
  }

  @Endpoint('GET /openapi.json', {
    summary: 'The API as OpenAPI 3.1',
    access: 'open',
    answer: z.looseObject({ openapi: z.literal('3.1.0') }),
  })
  openApi(): OpenApiDocument {
    return (this.document ??= this.make());
  }

  @Endpoint('GET /docs', { summary: 'The API for people', access: 'open', answer: { media: 'text/html' } })
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', DOCS_POLICY)
  async docs(): Promise<string> {
    if (this.html !== null) return this.html;
    const script = await this.assets.named('docs-', '.js');
    return (this.html = docsPage(this.openApi(), script === null ? null : `/assets/${script}`));
  }
}
