// What the search promises on public sets, by the name of their folder.
import type { SetResult } from "./measure.js";

type Figure = "R5" | "R10" | "nDCG10" | "p50Ms" | "p95Ms" | "buildMs" | "heapMb" | "add100Ms" | "drop100Ms";

const AT_LEAST: Readonly<Record<string, Partial<Record<Figure, number>>>> = {
  sealtools: { R5: 92, R10: 96, nDCG10: 93 },
  metatool: { R5: 62, R10: 69 },
  bfcl: { R5: 84, R10: 90 },
  stabletoolbench: { R5: 72, R10: 80 },
};

/** For 10,000 tools; kept by larger sets too. */
const AT_MOST: Partial<Record<Figure, number>> = {
  p50Ms: 1,
  p95Ms: 3,
  buildMs: 1_500,
  heapMb: 30,
  add100Ms: 50,
  drop100Ms: 50,
};

export function brokenPromises(set: string, result: SetResult): readonly string[] {
  const say =
    (word: string) => (bounds: Partial<Record<string, number>>, isKept: (own: number, bound: number) => boolean) =>
      Object.entries(bounds).flatMap(([figure, bound]) => {
        const own = figureOf(result, figure);
        if (own === undefined || bound === undefined || isKept(own, bound)) return [];
        return [`${set}: ${figure} is ${own}, promised is ${word} ${bound}`];
      });
  return [
    ...say("at least")(AT_LEAST[set] ?? {}, (own, bound) => own >= bound),
    ...say("at most")(AT_MOST, (own, bound) => own <= bound),
  ];
}

function figureOf(result: SetResult, figure: string): number | undefined {
  const found = Object.entries(result).find(([name]) => name === figure)?.[1];
  return typeof found === "number" ? found : undefined;
}
