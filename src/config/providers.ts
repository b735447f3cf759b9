// Model providers from the user's own file, as the variables the models room reads. Filled when a model is first needed.

import { dirname } from "node:path";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import type { EffectiveConfig, ProviderValues } from "./effective.js";
import { type ModelEntry, PROVIDERS, type ProviderName } from "./entry.js";
import { PROVIDER_VARIABLES } from "./environment.js";
import { interpolate, isMissing } from "./interpolate.js";
import { type Merged, type Sourced, valueOf } from "./merge.js";
import type { Problem } from "./place.js";
import { type ResolveSecret, Secrets } from "./secrets.js";
import { emptyRecord } from "./text-tree.js";

const FIELDS = ["apiKey", "baseUrl"] as const;

export function providerValues(merged: Merged): Readonly<Partial<Record<ProviderName, ProviderValues>>> {
  const text = (path: readonly string[]): Sourced<string> | undefined => {
    const found = valueOf(merged, path);
    return typeof found?.value === "string" ? { value: found.value, place: found.place } : undefined;
  };
  const providers: Partial<Record<ProviderName, ProviderValues>> = {};
  for (const name of PROVIDERS) {
    const apiKey = text(["providers", name, "apiKey"]);
    const baseUrl = text(["providers", name, "baseUrl"]);
    if (apiKey || baseUrl) providers[name] = defined({ apiKey, baseUrl });
  }
  return providers;
}

/** The settings of single models, put together again from their values; the schema has checked them. */
export function modelValues(merged: Merged): Readonly<Record<string, ModelEntry>> {
  const models: Record<string, Record<string, unknown>> = emptyRecord();
  for (const { path, value } of merged.values.values()) {
    const [root, id, ...rest] = path;
    if (root !== "models" || id === undefined) continue;
    models[id] ??= emptyRecord();
    let target = models[id];
    for (const step of rest.slice(0, -1)) {
      const inner: Record<string, unknown> = isRecord(target[step]) ? target[step] : emptyRecord();
      target[step] = inner;
      target = inner;
    }
    const last = rest.at(-1);
    if (last !== undefined) target[last] = value;
  }
  return models;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface ProviderRequest {
  readonly world: World;
  readonly env?: World["env"];
  readonly resolveSecret?: ResolveSecret;
}

export interface ProviderEnvironment {
  /** The environment with what the user's file adds; what is set in the environment itself is stronger. */
  readonly env: World["env"];
  /** What came from elsewhere, for masking. */
  readonly secrets: readonly string[];
  readonly problems: readonly Problem[];
}

/** For `loadModel`. Never rejects; a value that cannot be had is left out, with a problem. */
export async function providerEnvironment(
  config: Pick<EffectiveConfig, "providers">,
  request: ProviderRequest,
  only: readonly ProviderName[] = PROVIDERS,
): Promise<ProviderEnvironment> {
  const { world } = request;
  const env = request.env ?? world.env;
  const secrets = new Secrets(world, request.resolveSecret);
  using deadline = world.deadline(LIMITS.secretTimeoutMs * 2);
  const added: Record<string, string> = {};
  const masked: string[] = [];
  const problems: Problem[] = [];
  const wanted = only.flatMap((name) =>
    FIELDS.map((field) => ({ name, field, given: config.providers[name]?.[field] })),
  );
  for (const { name, field, given } of wanted) {
    const variables = PROVIDER_VARIABLES[name][field];
    const [variable] = variables;
    if (!given || variable === undefined || variables.some((set) => env[set]?.trim())) continue;
    const { place } = given;
    const path = ["providers", name, field];
    const source = { world, env, folder: dirname(place.file ?? ""), secrets, patience: deadline.signal };
    const filled = await interpolate({ text: given.value, path, mayBeSecret: field === "apiKey" }, () => place, source);
    if (isMissing(filled)) problems.push({ severity: "error", place, message: filled.reason });
    else {
      added[variable] = filled.text;
      masked.push(...(field === "apiKey" ? [filled.text] : filled.secrets));
    }
  }
  world.trace?.hide(masked);
  return { env: { ...env, ...added }, secrets: masked, problems };
}
