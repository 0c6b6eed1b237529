/** Style sheets are bundled by scripts/build-dashboard.mjs. */
declare module '*.css';
