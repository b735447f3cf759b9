// A server that misbehaves in one given way when asked to: `main.mjs stdio|http '<settings as JSON>'`.
import { serveHttp } from "./http.js";
import { Lab, type Settings } from "./lab.js";
import { PREPARATIONS } from "./mischief.js";
import { serveStdio } from "./stdio.js";

const [transport = "", json = "{}"] = process.argv.slice(2);
const settings: Settings = JSON.parse(json);
const lab = new Lab(settings);
PREPARATIONS[settings.mischief]?.(lab);
// However the run ends, it is not for ever.
setTimeout(() => process.exit(1), 300_000).unref();
if (transport === "http") await serveHttp(lab);
else serveStdio(lab);
