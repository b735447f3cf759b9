// Finding tools: names first, nobody crowded out, reasons given, and servers that come and go leave no trace.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SearchDocument, type SearchOptions, ToolIndex } from "./index-of-tools.js";

function tool(id: string, description = "", more: Partial<SearchDocument> = {}): SearchDocument {
  const [server = "", name = ""] = id.includes("/") ? id.split("/") : ["", id];
  return { id, server, name, description, ...more };
}

function indexOf(...tools: readonly SearchDocument[]): ToolIndex {
  const index = new ToolIndex();
  for (const [server, documents] of groups(tools)) index.setServer(server, documents);
  return index;
}

function groups(tools: readonly SearchDocument[]): Map<string, SearchDocument[]> {
  const servers = new Map<string, SearchDocument[]>();
  for (const one of tools) servers.set(one.server, [...(servers.get(one.server) ?? []), one]);
  return servers;
}

function ids(index: ToolIndex, query: string, options: Partial<SearchOptions> = {}): string[] {
  return index.search(query, { limit: 5, ...options }).map(({ id }) => id);
}

const WEATHER = tool("sky/get_forecast", "Weather forecast for a city", {
  schema: { type: "object", properties: { city: { type: "string", description: "Where", enum: ["Oslo", "Lima"] } } },
});
const MAIL = tool("post/send_mail", "Send an email to somebody");
const FILES = tool("disk/search", "Search for files by name");

describe("finding", () => {
  test("a tool is found by its name, description, server, properties, their descriptions and values", () => {
    const index = indexOf(WEATHER, MAIL, FILES);
    for (const query of ["forecasts", "weather", "sky", "city", "where is Lima"]) {
      expect([query, ids(index, query)[0]]).toEqual([query, "sky/get_forecast"]);
    }
    expect(ids(index, "quantum chromodynamics")).toEqual([]);
    expect(ids(index, "")).toEqual([]);
    expect(ids(new ToolIndex(), "weather")).toEqual([]);
  });

  test("properties are found however deep they are, and endless schemas end", () => {
    const nested = { type: "object", properties: { outer: { items: { anyOf: [{ properties: { telescope: {} } }] } } } };
    let deep: SearchDocument["schema"] = { properties: { needle: {} } };
    for (let level = 0; level < 5_000; level++) deep = { items: deep };
    const index = indexOf(tool("a", "", { schema: nested }), tool("b", "", { schema: deep }));
    expect(ids(index, "telescope")).toEqual(["a"]);
    expect(ids(index, "needle")).toEqual([]);
  });

  test("a name counts for more than a description, and a title as much as a name", () => {
    const index = indexOf(tool("b/translate"), tool("a/other", "translate"), tool("c/x", "", { title: "Translate" }));
    expect(ids(index, "translate it into Greek").slice(0, 2).sort()).toEqual(["b/translate", "c/x"]);
  });

  test("each sentence of a prompt finds its tool", () => {
    const noise = Array.from({ length: 8 }, (_, n) =>
      tool(`n/report_${n}`, "Quarterly report about sales and customers"),
    );
    const index = indexOf(...noise, WEATHER, MAIL);
    const prompt =
      "Read the quarterly report about sales and our customers. Then tell me the weather. Send an email to Bo.";
    expect(ids(index, prompt)).toEqual(expect.arrayContaining(["sky/get_forecast", "post/send_mail"]));
  });

  test("a film is found as a movie", () => {
    const index = indexOf(tool("a/movie_lookup"), tool("b/other", "unrelated things"));
    expect(ids(index, "which films ran in 1999")).toEqual(["a/movie_lookup"]);
  });

  test("a related word counts less than the one that was said, and only once", () => {
    const index = indexOf(tool("a/x", "movie cinema"), tool("b/x", "film"), tool("c/x", "unrelated"));
    expect(ids(index, "film")).toEqual(["b/x", "a/x"]);
    const [, related] = index.search("film", { limit: 2 });
    expect(related?.matches).toHaveLength(1);
  });

  test("what answers one sentence wholly is before what answers another by half", () => {
    const halves = Array.from({ length: 6 }, (_, n) => tool(`a/half${n}`, "alpha bravo"));
    const wholes = Array.from({ length: 6 }, (_, n) => tool(`z/whole${n}`, "zulu tango"));
    const index = indexOf(...halves, tool("b/all", "alpha bravo charlie delta echo"), ...wholes);
    const [, second] = ids(index, "alpha bravo charlie delta echo. zulu!", { maxPerServer: 9 });
    expect(second).toBe("z/whole0");
  });

  test("of two tools that say it, the one that says less else is first", () => {
    const index = indexOf(
      tool("a/x", "zebra and horses, cows, goats, sheep, pigs, geese, ducks"),
      tool("b/x", "zebra"),
    );
    expect(ids(index, "zebra")).toEqual(["b/x", "a/x"]);
  });

  test("only tools of the server that is asked for", () => {
    const index = indexOf(WEATHER, tool("other/forecast", "Weather forecast"));
    expect(ids(index, "weather", { server: "other" })).toEqual(["other/forecast"]);
    expect(ids(index, "get_forecast", { server: "other" })).toEqual(["other/forecast"]);
    expect(ids(index, "weather", { server: "nobody" })).toEqual([]);
  });

  test("equal scores are ordered by id, and a limit of none is none", () => {
    const index = indexOf(tool("c/x", "zebra"), tool("a/x", "zebra"), tool("b/x", "zebra"));
    expect(ids(index, "zebra")).toEqual(["a/x", "b/x", "c/x"]);
    for (const limit of [0, -1, Number.NaN])
      expect(ids(index, "zebra", { limit }).length).toBe(Number.isNaN(limit) ? 3 : 0);
  });
});

describe("exact names", () => {
  const index = indexOf(
    tool("a/search", "Search"),
    tool("b/get_forecast", "Something with clouds"),
    tool("c/rain", "weather forecast rain weather get forecast"),
    tool("d/listFiles"),
  );

  test("come first wherever they stand in the prompt", () => {
    expect(ids(index, "Use get_forecast. I want weather and rain forecast")[0]).toBe("b/get_forecast");
    expect(ids(index, "GET_FORECAST")[0]).toBe("b/get_forecast");
    expect(ids(index, "b/get_forecast")[0]).toBe("b/get_forecast");
    expect(ids(index, "weather rain forecast with listFiles")[0]).toBe("d/listFiles");
    expect(ids(index, "rain weather forecast by `search`")[0]).toBe("a/search");
  });

  test("an everyday word that happens to be a name does not", () => {
    expect(ids(index, "search for the rain weather forecast")[0]).toBe("c/rain");
    expect(ids(index, "search")[0]).toBe("a/search");
  });

  test("are found even when all their words say nothing", () => {
    const [hit] = indexOf(tool("a/get"), tool("b/other", "get")).search("get", { limit: 5 });
    expect(hit).toMatchObject({ id: "a/get", matches: [{ field: "exact name" }] });
  });
});

describe("servers among each other", () => {
  const flood = Array.from({ length: 40 }, (_, n) => tool(`flood/weather_${n}`, "weather ".repeat(2_000)));

  test("one server leaves places to others that fit, also by stuffing its descriptions", () => {
    const index = indexOf(...flood, tool("sky/forecast", "The weather of a city"));
    expect(ids(index, "weather")).toContain("sky/forecast");
    expect(ids(index, "weather", { limit: 10, maxPerServer: 3 })).toContain("sky/forecast");
    expect(ids(index, "weather", { limit: 4, maxPerServer: 1 })).toHaveLength(4);
  });

  test("it gets all places when nothing else fits, and tools without a server stand for themselves", () => {
    expect(ids(indexOf(...flood, MAIL), "weather").every((id) => id.startsWith("flood/"))).toBe(true);
    const loose = flood.map((one) => ({ ...one, server: "" }));
    expect(ids(indexOf(...loose, tool("sky/forecast", "weather")), "weather", { maxPerServer: 1 })).toHaveLength(5);
  });

  test("a name that was said is not held back", () => {
    const index = indexOf(...flood, tool("sky/forecast", "weather"));
    expect(ids(index, "weather by weather_7, weather_8 and weather_9", { maxPerServer: 1, limit: 4 })).toEqual(
      expect.arrayContaining(["flood/weather_7", "flood/weather_8", "flood/weather_9"]),
    );
  });

  test("a description counts up to a limit, however long it is", () => {
    const long = `${"filler ".repeat(100_000)} needle`;
    expect(ids(indexOf(tool("a", long)), "needle")).toEqual([]);
  });
});

describe("reasons", () => {
  const index = indexOf(WEATHER, MAIL, FILES, tool("sky/rain", "Rain in a city"), tool("sky/snow", "Snow in a city"));

  test("a hit says which terms were found where, and they add up", () => {
    const [hit] = index.search("weather of a city", { limit: 1 });
    expect(hit?.id).toBe("sky/get_forecast");
    expect(hit?.matches.map(({ term, field }) => [term, field])).toEqual(
      expect.arrayContaining([
        ["weather", "description"],
        ["citi", "description"],
      ]),
    );
    const sum = hit?.matches.reduce((total, { score }) => total + score, 0);
    expect(sum).toBeCloseTo(hit?.score ?? 0);
  });

  test("a tool that is not among the results has its rank", () => {
    const options = { limit: 2, maxPerServer: 5 };
    const [, second] = index.search("weather in the city", options);
    const below = ["sky/rain", "sky/snow"].find((id) => id !== second?.id) ?? "";
    expect(index.explain("weather in the city", below, options)).toMatchObject({
      rank: 3,
      hit: { id: below },
      isHeldBack: false,
    });
  });

  test("what fits has the rank of the search, what does not has none", () => {
    const { rank, hit } = index.explain("send mail", "post/send_mail", { limit: 5 });
    expect([rank, hit]).toEqual([1, index.search("send mail", { limit: 5 })[0]]);
    expect(index.explain("send mail", "disk/search", { limit: 5 })).toMatchObject({ rank: undefined, hit: undefined });
    expect(index.explain("send mail", "no such tool", { limit: 5 }).rank).toBeUndefined();
  });

  test("a tool that waits for others is said to be held back", () => {
    const both = indexOf(tool("a/x", "weather"), tool("a/y", "weather"), tool("b/z", "weather and much else to say"));
    expect(both.explain("weather", "a/y", { limit: 2, maxPerServer: 1 })).toMatchObject({ rank: 3, isHeldBack: true });
  });
});

describe("extras", () => {
  const plain = indexOf(tool("a/alpha", "one cactus"), tool("b/beta", "other cactus"));

  test("earlier prompts lead to the tool they led to before, only if it is still there", () => {
    const usage = {
      counts: new Map([
        [
          "zebra",
          new Map([
            ["b/beta", 2],
            ["gone", 5],
          ]),
        ],
      ]),
      lengths: new Map([
        ["b/beta", 4],
        ["gone", 9],
      ]),
    };
    expect(ids(plain, "zebra")).toEqual([]);
    const [hit, ...rest] = plain.search("zebra", { limit: 5, usage });
    expect(hit).toMatchObject({ id: "b/beta", matches: [{ term: "zebra", field: "usage" }] });
    expect(rest).toEqual([]);
    expect(ids(plain, "cactus zebra", { usage })[0]).toBe("b/beta");
    expect(ids(plain, "zebra", { usage, server: "a" })).toEqual([]);
  });

  test("embeddings are mixed in: they add tools that stand out, reorder equals, and do not drown the words", () => {
    const closeness = (beta: number, alpha: number) => ({
      dense: new Map([
        ["b/beta", beta],
        ["a/alpha", alpha],
      ]),
    });
    expect(ids(plain, "nothing shared", closeness(0.9, 0.2))).toEqual(["b/beta"]);
    expect(ids(plain, "cactus", closeness(0.9, 0))[0]).toBe("b/beta");
    expect(ids(plain, "alpha", closeness(0.9, 0))[0]).toBe("a/alpha");
    const [first] = plain.search("cactus", { limit: 2, ...closeness(0.72, 0.7) });
    expect(first?.matches).toContainEqual({ term: "meaning", field: "meaning", score: expect.closeTo(0.3) });
    // Where nothing can be told from it, and for a tool that was not embedded, the words count in full.
    for (const dense of [closeness(0.5, 0.5).dense, new Map([["b/beta", 0.9]]), closeness(Number.NaN, -1).dense]) {
      expect(plain.search("cactus", { limit: 2, dense }).map(({ score }) => score)).toEqual([1, 1]);
    }
    const partly = new Map([...closeness(0.9, 0.1).dense, ["x", Number.POSITIVE_INFINITY], ["y", 0.5]]);
    partly.delete("a/alpha");
    expect(plain.search("cactus", { limit: 2, dense: partly })).toMatchObject([{ score: 1 }, { score: 1 }]);
  });
});

describe("servers that come and go", () => {
  test("a changed server replaces what it had; an id moves to who names it last", () => {
    const index = indexOf(tool("a/old", "zebra"), tool("b/x", "zebra"));
    index.setServer("a", [tool("a/new", "zebra"), tool("a/new", "zebra zebra")]);
    expect(ids(index, "zebra")).toEqual(expect.arrayContaining(["a/new", "b/x"]));
    expect(index.size).toBe(2);
    index.setServer("c", [{ ...tool("b/x", "zebra"), server: "c" }]);
    index.dropServer("b");
    expect(ids(index, "zebra")).toContain("b/x");
    index.dropServer("a");
    index.dropServer("c");
    index.dropServer("never there");
    expect([index.size, ids(index, "zebra"), ids(index, "a/new")]).toEqual([0, [], []]);
  });

  const word = fc.constantFrom("weather", "send", "mail", "fileSearch", "天气", "GitHub", "movie", "film", "x1");
  const text = fc.oneof(
    fc.array(word, { maxLength: 6 }).map((words) => words.join(" ")),
    fc.string({ unit: "binary" }),
  );
  const document = fc.record({ name: text, description: text, property: text, value: text });
  const servers = fc.array(
    fc.record({ server: fc.constantFrom("a", "b", "c", ""), tools: fc.array(document, { maxLength: 5 }) }),
    { maxLength: 8 },
  );

  function documents(
    server: string,
    tools: readonly { name: string; description: string; property: string; value: string }[],
  ) {
    return tools.map(
      ({ name, description, property, value }, n): SearchDocument => ({
        id: `${server}/${n}`,
        server,
        name,
        description,
        schema: { properties: { [property]: { description: value, enum: [value] } } },
      }),
    );
  }

  test("after any changes the answers are those of an index built at once, and the same every time", () => {
    fc.assert(
      fc.property(
        servers,
        fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
        text,
        (changes, drops, query) => {
          const index = new ToolIndex();
          const last = new Map<string, readonly SearchDocument[]>();
          for (const { server, tools } of changes) {
            index.setServer(server, documents(server, tools));
            last.set(server, documents(server, tools));
          }
          for (const server of drops) {
            index.dropServer(server);
            last.delete(server);
          }
          const fresh = new ToolIndex();
          for (const [server, tools] of [...last].reverse()) fresh.setServer(server, tools);
          const options = { limit: 4, maxPerServer: 2 };
          const hits = index.search(query, options);
          expect(hits).toEqual(fresh.search(query, options));
          expect(hits).toEqual(index.search(query, options));
          expect(hits.length).toBeLessThanOrEqual(4);
          const scores = hits.map(({ score }) => score);
          expect(scores).toEqual([...scores].sort((a, b) => b - a));
          for (const [place, { id }] of hits.entries()) expect(index.explain(query, id, options).rank).toBe(place + 1);
        },
      ),
    );
  });
});

test("a prompt of a megabyte is answered like its beginning and end", () => {
  const index = indexOf(WEATHER, MAIL, FILES);
  const log = "2026-01-01 ERROR retry failed in module zz\n".repeat(25_000);
  expect(ids(index, `What is the weather?\n${log}`)[0]).toBe("sky/get_forecast");
  expect(ids(index, `${log}\nSend an email about it`)[0]).toBe("post/send_mail");
  expect(ids(index, "x".repeat(1_000_000))).toEqual([]);
});
