// Models and their providers, for people and for programs.
import { defined } from "../../base/json/defined.js";
import type { AvailableModel, ModelPrice } from "../../models/index.js";
import type { Palette } from "../terminal/palette.js";
import { renderTable } from "../terminal/table.js";
import { visibleLine } from "../terminal/visible.js";

export interface ProviderLook {
  readonly name: string;
  /** The variable its key is looked for in. */
  readonly keyVariable: string;
  /** Where its key is; undefined when there is none. */
  readonly key?: string;
  readonly models: readonly AvailableModel[];
  /** Why it could not be asked. */
  readonly problem?: string;
}

interface Style {
  readonly columns: number;
  readonly palette: Palette;
}

export function modelLines(looked: readonly ProviderLook[], used: string, style: Style): readonly string[] {
  const { palette, columns } = style;
  const models = looked.flatMap((provider) => provider.models);
  const rows = models.map(({ id, title = "", abilities }) => [
    `${id === used ? "*" : " "} ${visibleLine(id)}`,
    tokensText(abilities.contextTokens),
    abilities.maxOutputTokens === undefined ? "–" : tokensText(abilities.maxOutputTokens),
    priceText(abilities.price),
    visibleLine(title),
  ]);
  const head = ["  model", "window", "output", "$ per M in/out", "title"];
  const [first = "", ...lines] = rows.length === 0 ? [] : renderTable([head, ...rows], { columns });
  const isListed = models.some(({ id }) => id === used);
  return [
    ...(rows.length === 0 ? [] : [palette.dim(first), ...lines]),
    ...(isListed ? [] : [`* ${visibleLine(used)}`]),
    palette.dim("* is what sessions begin with."),
    ...looked.map(({ name, key, keyVariable, problem }) => {
      if (problem !== undefined) return `${name}: could not be asked`;
      if (key !== undefined) return `${name}: key from ${visibleLine(key)}`;
      return palette.dim(
        `${name}: no key; set ${keyVariable}${name === "openai-compatible" ? " and TENON_BASE_URL" : " or run tenon acp --setup"}`,
      );
    }),
  ];
}

function tokensText(tokens: number): string {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : String(tokens);
}

function priceText(price: ModelPrice | undefined): string {
  return price ? `${price.inputPerMTok} / ${price.outputPerMTok}` : "–";
}

export function modelJson({ name, key, keyVariable, models, problem }: ProviderLook): object {
  return {
    name,
    keyVariable,
    hasKey: key !== undefined,
    ...defined({ keyFrom: key, problem }),
    models: models.map(({ id, title, abilities }) => ({ id, ...defined({ title }), ...abilities })),
  };
}
