// Which model is meant, and the model itself: its package loaded, what it can do found out.

import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { Fetch, World } from "../base/ports/world.js";
import type { KnownAbilities, ModelPrice, ThinkingLevel } from "./abilities.js";
import { aiSdkModel } from "./ai-sdk.js";
import { baseUrlOf, connectionOf, type Environment, readVariable, shownUrl } from "./connection.js";
import { knownModel, tableAbilities } from "./known-models.js";
import { MODEL_LIMITS } from "./limits.js";
import type { ModelLists } from "./lists/model-lists.js";
import type { Model } from "./model.js";
import { type NamedProvider, PROVIDERS, providerOf } from "./registry.js";

export interface ModelChoice {
  /** `--model`, above everything else. */
  readonly flag?: string | undefined;
  readonly env: Environment;
}

/** What the person says about one model; stronger than the table and the provider. */
export interface ModelSettings {
  readonly contextTokens?: number | undefined;
  /** Also sent with every request that does not say otherwise. */
  readonly maxOutputTokens?: number | undefined;
  readonly images?: boolean | undefined;
  readonly audio?: boolean | undefined;
  readonly pdf?: boolean | undefined;
  /** The levels it has. */
  readonly thinking?: readonly ThinkingLevel[] | undefined;
  /** Whether found tools are sent in the provider's own way; unless given, at the provider's own address only. */
  readonly toolSearch?: boolean | undefined;
  readonly price?: ModelPrice | undefined;
  /** How long it may send nothing. */
  readonly silenceMs?: number | undefined;
}

export interface LoadOptions {
  readonly env: Environment;
  readonly fetch: Fetch;
  readonly settings?: ModelSettings | undefined;
  /** How much it thinks where a request does not say. */
  readonly thinking?: ThinkingLevel | undefined;
  /** Asked about models the table does not know. Without it nobody is asked. */
  readonly lists?: ModelLists | undefined;
  readonly now?: () => number;
  /** Times how long a provider is silent; without it there is no limit. */
  readonly clock?: Pick<World, "after" | "monotonicMs">;
}

export const OFFLINE_MODEL_ID = "offline/operator";

const FORM = `Models are written provider/name; providers: ${Object.keys(PROVIDERS).join(", ")}; or ${OFFLINE_MODEL_ID}.`;

/** Flag, then `TENON_MODEL`, then the first provider with a key, then the offline model. Says nothing of whether it works. */
export function resolveModelId(choice: ModelChoice): string {
  const said = choice.flag?.trim() || choice.env["TENON_MODEL"]?.trim();
  if (said) return said;
  for (const [provider, { keyVariable, defaultModel }] of Object.entries(PROVIDERS)) {
    const hasKey = readVariable(choice.env, keyVariable) !== undefined;
    if (defaultModel !== undefined && hasKey) return `${provider}/${defaultModel}`;
  }
  return OFFLINE_MODEL_ID;
}

export function unknownModel(id: string): TenonError {
  return new TenonError("model.unknown", `There is no model "${id}". ${FORM}`, { hint: FORM });
}

/** Loads the package of the model's provider. Fails with `model.unknown` or `model.unauthorized`, before any request. */
export async function loadModel(id: string, options: LoadOptions): Promise<Model> {
  if (id === OFFLINE_MODEL_ID) {
    const { offlineModel } = await import("./offline/operator.js");
    return offlineModel;
  }
  const named = providerOf(id);
  if (named === undefined) throw unknownModel(id);
  const { provider, name } = named;
  const silenceMs = options.settings?.silenceMs ?? MODEL_LIMITS.model.silenceMs;
  const silence = options.clock && { clock: options.clock, silenceMs };
  const connection = connectionOf(id, provider, { ...options, name, silence });
  const [languageModel, listed] = await Promise.all([provider.load(connection), listedAbilities(id, named, options)]);
  const { settings, thinking } = options;
  const secrets = connection.apiKey === undefined ? [] : [connection.apiKey];
  return aiSdkModel(id, languageModel, {
    ...provider.options,
    abilities: { ...listed, ...knownAbilities(id, options) },
    thinking,
    maxOutputTokens: settings?.maxOutputTokens,
    failure: {
      secrets,
      keyVariable: provider.keyVariable,
      baseUrl: shownUrl(connection.baseUrl ?? provider.url ?? ""),
      ...defined({ now: options.now }),
    },
  });
}

/** What is known of a model without asking anybody: what the person says, then the table. */
export function knownAbilities(
  id: string,
  given: { readonly env: Environment; readonly settings?: ModelSettings | undefined },
): KnownAbilities {
  const { toolSearch, silenceMs: _, ...said } = given.settings ?? {};
  const spoken = Object.entries(said).filter(([, value]) => value !== undefined);
  const native = nativeSearch(id, given.env, toolSearch);
  return {
    ...tableAbilities(id),
    ...Object.fromEntries(spoken),
    ...defined({ toolSearch: native }),
  };
}

/** Gateways take the maker's messages and often not this part of them, so it is used at the maker's own address only. */
function nativeSearch(id: string, env: Environment, isWanted: boolean | undefined): KnownAbilities["toolSearch"] {
  const named = providerOf(id);
  const form = named === undefined ? undefined : knownModel(named.name)?.toolSearch;
  const dialect = named?.provider.options.dialect;
  const speaks = form === "anthropic" ? dialect === "anthropic" : dialect === "openai-responses";
  if (named === undefined || form === undefined || !speaks) return undefined;
  const { provider } = named;
  const isOwnAddress = (baseUrlOf(provider, env) ?? provider.url) === provider.url;
  return (isWanted ?? isOwnAddress) ? form : undefined;
}

/** The first prompt waits for this, so only what nobody else knows is asked for, and a failure is no failure. */
async function listedAbilities(id: string, named: NamedProvider, options: LoadOptions): Promise<KnownAbilities> {
  const isKnown = (options.settings?.contextTokens ?? tableAbilities(id).contextTokens) !== undefined;
  if (isKnown || options.lists === undefined) return {};
  return (await options.lists.find(named.providerName, named.name, options.env)) ?? {};
}
