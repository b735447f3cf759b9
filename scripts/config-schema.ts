// Writes schema/config.schema.json from the zod schema of configuration files. A test checks that it is current.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { configJsonSchema } from "../src/config/layers/schema.js";
import { ROOT } from "./lib/run.js";

const file = join(ROOT, "schema", "config.schema.json");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`);
console.log(`wrote ${file}`);
