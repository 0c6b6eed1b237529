# Builds Bursar and runs it as an ordinary user. The database and the queue are elsewhere (docker-compose.yml).
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The sources are not here yet, so nothing is built by npm; no package of the image needs a script of its own.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json nest-cli.json ./
COPY src ./src
COPY clients/typescript ./clients/typescript
COPY migrations ./migrations
COPY scripts ./scripts
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
# A worker answers probes on 8081; the roles with an API do on 8080. Logs are kept: no key is printed into them.
ENV NODE_ENV=production HOST=0.0.0.0 BURSAR_HEALTH_PORT=8081 BURSAR_FIRST_KEY=off
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY examples ./examples
USER node
EXPOSE 8080 8081
ENTRYPOINT ["node", "--max-semi-space-size=64", "--no-allocation-site-pretenuring", "dist/src/main.js"]
CMD ["serve"]
