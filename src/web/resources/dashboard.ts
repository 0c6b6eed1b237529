/**
 * / and /assets: the dashboard. Open and the same for everybody; its script asks the API for the data.
 *
 * The page loads from here alone, runs no inline script, and cannot be framed.
 */
import { Controller, Req, Res, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { dashboardAssets, encodingFor, PAGE, type Assets } from '../assets.js';
import { Endpoint, PathInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** They need no caller, so no check waits for the database. */
const OPEN = { access: 'open', checksKey: true } as const;
const YEAR_SECONDS = 31_536_000;

@Controller()
export class DashboardController {
  private readonly assets: Assets;

  constructor(@InjectParts() { dashboard }: WebParts) {
    this.assets = dashboardAssets(dashboard);
  }

  @Endpoint('GET /', { ...OPEN, summary: 'The dashboard', answer: { media: 'text/html' } })
  async page(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<StreamableFile> {
    reply.header('content-security-policy', CONTENT_POLICY);
    return this.send(PAGE, request, reply);
  }

  @Endpoint('GET /assets/:name', {
    ...OPEN,
    summary: 'A file of the dashboard',
    description: 'Its name holds a hash of its content: it never changes.',
    answer: { media: '*/*' },
  })
  async asset(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @PathInput('name', z.string().max(200)) name: string,
  ): Promise<StreamableFile> {
    const file = await this.send(name, request, reply);
    reply.header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`);
    return file;
  }

  private async send(name: string, request: FastifyRequest, reply: FastifyReply): Promise<StreamableFile> {
    const asset = await this.assets.get(name);
    const encoding = encodingFor(request.headers['accept-encoding']);
    reply.header('vary', 'accept-encoding');
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return new StreamableFile(asset.bodies[encoding], { type: asset.type });
  }
}
