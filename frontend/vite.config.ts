/// <reference types="vitest/config" />
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const BUILT = "../webapp/src/unpooled_webapp/static/app";

/** Writes NAME.gz and NAME.br beside each asset, which Whitenoise sends to browsers that take them. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle() {
      const folder = join(import.meta.dirname, BUILT, "assets");
      for (const name of readdirSync(folder).filter((name) => /\.(js|css|svg)$/.test(name))) {
        const bytes = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
      }
    },
  };
}

export default defineConfig(({ command }) => ({
  plugins: [react(), compressed()],
  base: command === "build" ? "/static/app/" : "/",
  build: {
    outDir: BUILT,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // jsPDF would load these to read HTML, which no page asks it to.
    rolldownOptions: {
      external: ["canvg", "dompurify", "html2canvas"],
      checks: { bundlerTimings: false }, // compressing takes most of the time
    },
  },
  // `npm run dev` beside `unpooled up`: pages from here, answers from there.
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true },
}));
