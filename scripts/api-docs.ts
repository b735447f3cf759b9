// `npm run docs:api`: pages of the library's API by typedoc, from the doc comments, into `.cache/api-docs`. Not part of CI.
import { join } from "node:path";
import { LIBRARY_ENTRIES } from "./lib/bundle.js";
import { ensurePinned } from "./lib/peers.js";
import { ROOT, run } from "./lib/run.js";

await ensurePinned("typedoc");
const out = join(ROOT, ".cache/api-docs");
const entries = LIBRARY_ENTRIES.flatMap((name) => ["--entryPoints", join(ROOT, "dist", `${name}.d.ts`)]);
const options = ["--out", out, "--tsconfig", join(ROOT, "scripts/typedoc/tsconfig.json"), "--name", "Tenon"];
const typedoc = join(ROOT, ".cache/typedoc/node_modules/typedoc/bin/typedoc");
const { code, output } = await run(process.execPath, [typedoc, ...options, "--skipErrorChecking", ...entries], {
  cwd: ROOT,
});
console.log(output.trimEnd());
process.exitCode = code;
