#!/usr/bin/env node
/** `npx bursar`: the compiled process door. `npm ci` builds it (the prepare script). */
import '../dist/src/main.js';
