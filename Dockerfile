# Pinned by digest, because tags move. It is the index of all platforms, with the Node version of package.json.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/sdk/package.json packages/sdk/
COPY packages/server/package.json packages/server/
COPY packages/cli/package.json packages/cli/
COPY packages/dashboard/package.json packages/dashboard/
COPY examples/package.json examples/
COPY scripts/openapi-types/package.json scripts/openapi-types/

FROM manifests AS build
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY packages packages
RUN npm run build

# Installs only what the command needs at run time: no development tools, and no second Node from npm.
FROM manifests AS runtime
RUN npm ci --omit=dev --workspace=packages/cli && npm cache clean --force

FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
WORKDIR /app
COPY --from=runtime /app ./
COPY --from=build /app/packages/contract/dist packages/contract/dist
COPY --from=build /app/packages/server/dist packages/server/dist
COPY --from=build /app/packages/server/migrations packages/server/migrations
COPY --from=build /app/packages/dashboard/dist packages/dashboard/dist
COPY --from=build /app/packages/cli/dist packages/cli/dist
COPY LICENSE ./

RUN install -d -o node -g node -m 0700 /data
VOLUME /data
USER node
ENV NODE_ENV=production \
    TIDEMILL_ENV=production \
    TIDEMILL_HOST=0.0.0.0 \
    TIDEMILL_DATA_DIR=/data
EXPOSE 8080

HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TIDEMILL_PORT || process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# Starts Node directly, because npm does not pass signals on. The node drains when SIGTERM reaches it.
ENTRYPOINT ["node", "packages/cli/dist/tidemill.js"]
CMD ["up"]
