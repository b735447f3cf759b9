// The configuration, what waits for trust, and the model with its key.
import { toTenonError } from "../../base/errors.js";
import { type EffectiveConfig, placeText, problemText, tenonPaths } from "../../config/index.js";
import type { CommandContext } from "../configuration/context.js";
import { configuredModels } from "../model.js";
import { lookAtProviders } from "../models/models.js";
import { secretResolver } from "../secrets.js";
import { type Finding, odd, ok, wrong } from "./finding.js";

export function checkConfiguration(config: EffectiveConfig, { world }: CommandContext): readonly Finding[] {
  const asServers = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  const findings = config.problems
    .filter((problem) => !asServers.has(problem))
    .map((problem, at): Finding => {
      const id = `configuration.${at + 1}`;
      const text = problemText(problem);
      const cures = [`correct ${placeText(problem.place)}`];
      return problem.severity === "error"
        ? wrong(id, "configuration", text, cures)
        : odd(id, "configuration", text, cures);
    });
  const file = tenonPaths(world.env).configFile;
  const isThere = file !== undefined && world.files.isFile(file);
  const counted = `${config.servers.length} ${config.servers.length === 1 ? "server" : "servers"}`;
  const text = isThere
    ? `${file}, ${counted} in all layers`
    : `no file of yours yet (${file ?? "no home"}), ${counted}`;
  return findings.length > 0 ? findings : [ok("configuration", "configuration", text)];
}

export function checkTrust({ questions }: EffectiveConfig): Finding {
  if (questions.length === 0) return ok("trust", "trust", "nothing of this project waits for a decision");
  const names = questions.map(({ server }) => (server === undefined ? "its settings" : `server "${server}"`));
  return odd("trust", "trust", `this project wants to bring ${names.join(", ")}`, ["tenon trust"]);
}

/** A key that is refused is found out here instead of in the first prompt. */
export async function checkModels(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const available = await configuredModels(config, world, secretResolver(world));
  const { id } = available.first;
  const problem = available.problemOf(id);
  const providers = await lookAtProviders(config, context);
  const keys = providers.flatMap(({ name, key, problem: refusal, models }): Finding[] => {
    const subject = `key of ${name}`;
    const cures = [`tenon acp --setup, or correct ${key ?? "its key"}`, "tenon models"];
    if (refusal !== undefined) return [wrong(`key.${name}`, subject, refusal, cures)];
    return key === undefined ? [] : [ok(`key.${name}`, subject, `from ${key}; ${models.length} models`)];
  });
  return [modelFinding(id, problem && toTenonError(problem)), ...keys];
}

function modelFinding(id: string, problem: ReturnType<typeof toTenonError> | undefined): Finding {
  if (problem) return wrong("model", "model", `${id}: ${problem.message}`, ["tenon acp --setup", "tenon models"]);
  if (id.startsWith("offline/")) {
    const text = `${id}: it matches words to tools and does not reason, since there is no key`;
    return odd("model", "model", text, ["tenon acp --setup"]);
  }
  return ok("model", "model", id);
}
