// Numbers, dates and the order of words as people write them in English, which is what
// programs ask for; a few other languages for the separators of their numbers.
(hooks) => {
  "use strict";
  const { originals: o } = hooks;
  const method = (target, name, value) =>
    o.defineProperty(target, name, { __proto__: null, configurable: true, writable: true, enumerable: false, value });

  const SEPARATORS = {
    __proto__: null,
    en: [",", "."], ja: [",", "."], zh: [",", "."], ko: [",", "."],
    de: [".", ","], es: [".", ","], it: [".", ","], nl: [".", ","], pt: [".", ","], tr: [".", ","],
    fr: ["\u202f", ","], sv: ["\u00a0", ","], nb: ["\u00a0", ","], pl: ["\u00a0", ","], ru: ["\u00a0", ","],
  };
  const CURRENCIES = {
    __proto__: null, USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩",
    BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", NZD: "NZ$", ILS: "₪", VND: "₫", PHP: "₱",
  };
  const WITHOUT_CENTS = { __proto__: null, JPY: true, KRW: true, VND: true, CLP: true, ISK: true };
  const COMPACT = [[1e12, "T", "trillion"], [1e9, "B", "billion"], [1e6, "M", "million"], [1e3, "K", "thousand"]];
  const UNITS = {
    __proto__: null, kilometer: "km", meter: "m", celsius: "°C", percent: "%", byte: "byte", kilobyte: "kB",
    megabyte: "MB", gigabyte: "GB", second: "sec", minute: "min", hour: "hr", kilogram: "kg", gram: "g", liter: "L",
  };

  const languageOf = (locales) => {
    const locale = o.isArray(locales) ? locales[0] : locales;
    return locale === undefined ? "en" : o.slice(`${locale}`, 0, 2);
  };
  const localeOf = (locales) => {
    const locale = o.isArray(locales) ? locales[0] : locales;
    return locale === undefined ? "en-US" : `${locale}`;
  };

  // Decimal digits of a number, rounded half away from zero as its shortest text reads.
  const rounded = (value, digits) => {
    if (typeof value === "bigint") return digits > 0 ? `${o.bigIntText(value)}.${o.repeat("0", digits)}` : o.bigIntText(value);
    if (o.abs(value) >= 1e21) return o.bigIntText(o.BigInt(value)) + (digits > 0 ? `.${o.repeat("0", digits)}` : "");
    const text = `${value}`;
    const dot = o.indexOf(text, ".");
    if (dot === -1 || o.includes(text, "e") || text.length - dot - 1 <= digits) return o.fixed(value, o.min(digits, 100));
    let cut = o.slice(text, 0, dot + 1 + digits);
    const up = o.at(text, dot + 1 + digits) >= 53;
    if (!up) return digits === 0 ? o.slice(cut, 0, -1) : cut;
    // Add one to the last digit that stays.
    let result = "";
    let carry = true;
    for (let i = cut.length - 1; i >= 0; i--) {
      const code = o.at(cut, i);
      if (!carry || code < 48 || code > 57) {
        if (carry && code === 45) {
          result = `-1${result}`;
          carry = false;
          continue;
        }
        result = cut[i] + result;
        continue;
      }
      if (code === 57) result = `0${result}`;
      else {
        result = `${code - 47}${result}`;
        carry = false;
      }
    }
    if (carry) result = `1${result}`;
    return digits === 0 ? o.slice(result, 0, -1) : result;
  };

  const grouped = (digits, separator, indian) => {
    let result = "";
    let size = 3;
    while (digits.length > size) {
      result = separator + o.slice(digits, -size) + result;
      digits = o.slice(digits, 0, -size);
      if (indian) size = 2;
    }
    return digits + result;
  };

  const significant = (value, most) => {
    if (value === 0) return "0";
    const text = o.precise(value, o.min(most, 100));
    return o.includes(text, "e") ? rounded(o.Number(text), 0) : text;
  };

  const checkedDigits = (value, name) => {
    if (value === undefined) return undefined;
    const digits = o.Number(value);
    if (!(digits >= 0 && digits <= 100)) throw new o.RangeError(`${name} value is out of range.`);
    return o.floor(digits);
  };

  const number = (value, locales, options = {}) => {
    const language = languageOf(locales);
    const [group, decimal] = SEPARATORS[language] ?? SEPARATORS.en;
    const { style = "decimal", currency, notation = "standard", compactDisplay = "short" } = options;
    if (style === "currency" && currency === undefined) throw new o.TypeError("Currency code is required with currency style.");
    const code = currency === undefined ? "" : o.upper(`${currency}`);
    const cents = style === "currency" ? (WITHOUT_CENTS[code] ? 0 : 2) : undefined;
    let least = checkedDigits(options.minimumFractionDigits, "minimumFractionDigits");
    let most = checkedDigits(options.maximumFractionDigits, "maximumFractionDigits");
    const isCompact = notation === "compact";
    const least0 = cents ?? 0;
    const most0 = cents ?? (style === "percent" || isCompact ? 0 : 3);
    if (least === undefined) least = most === undefined ? (isCompact ? 0 : least0) : o.min(least0, most);
    if (most === undefined) most = o.max(most0, least);
    if (least > most) throw new o.RangeError("maximumFractionDigits value is out of range.");

    let amount = typeof value === "bigint" ? value : o.Number(value);
    let suffix = "";
    if (style === "percent") amount = typeof amount === "bigint" ? amount * 100n : amount * 100;
    const isNegative = amount < 0 || o.is(amount, -0);
    let text;
    if (typeof amount === "number" && o.isNaN(amount)) text = "NaN";
    else if (typeof amount === "number" && !o.isFinite(amount)) text = "∞";
    else {
      if (isNegative) amount = -amount;
      let precision = options.maximumSignificantDigits;
      if (isCompact) {
        amount = o.Number(amount);
        for (let i = 0; i < COMPACT.length; i++) {
          if (o.Number(o.precise(amount, 3)) < COMPACT[i][0] * 0.9995) continue;
          amount /= COMPACT[i][0];
          suffix = compactDisplay === "long" ? ` ${COMPACT[i][2]}` : COMPACT[i][1];
          break;
        }
        if (options.maximumFractionDigits === undefined && options.minimumFractionDigits === undefined && precision === undefined) {
          if (amount < 100) precision = 2;
        }
      }
      let digits = precision !== undefined ? significant(o.Number(amount), precision) : rounded(amount, most);
      let dot = o.indexOf(digits, ".");
      let fraction = dot === -1 ? "" : o.slice(digits, dot + 1);
      const whole = dot === -1 ? digits : o.slice(digits, 0, dot);
      const atLeast = precision !== undefined ? 0 : least;
      while (fraction.length > atLeast && o.endsWith(fraction, "0")) fraction = o.slice(fraction, 0, -1);
      if (options.minimumSignificantDigits !== undefined) {
        const wanted = options.minimumSignificantDigits - (whole === "0" ? 0 : whole.length);
        while (fraction.length < wanted) fraction += "0";
      }
      let padded = whole;
      if (options.minimumIntegerDigits !== undefined) padded = o.padStart(whole, options.minimumIntegerDigits, "0");
      const separates = options.useGrouping !== false && options.useGrouping !== "false" &&
        !((language === "es" || language === "pt" || language === "pl") && padded.length < 5);
      const indian = localeOf(locales) === "en-IN" || language === "hi";
      text = separates ? grouped(padded, group, indian) : padded;
      if (fraction !== "") text += decimal + fraction;
    }
    text += suffix;
    const after = language !== "en" && language !== "ja" && language !== "zh" && language !== "ko";
    if (style === "percent") text += after ? "\u00a0%" : "%";
    if (style === "currency") {
      const display = options.currencyDisplay ?? "symbol";
      const symbol = display === "code" ? code : display === "name" ? code : CURRENCIES[code] ?? code;
      const isWord = symbol === code || display !== "symbol" && display !== "narrowSymbol";
      if (after) text = `${text}\u00a0${symbol}`;
      else text = `${symbol}${isWord ? "\u00a0" : ""}${text}`;
    }
    if (style === "unit") {
      const unit = UNITS[options.unit] ?? options.unit;
      text += options.unit === "percent" || options.unit === "celsius" ? unit : ` ${unit}`;
    }
    const sign = options.signDisplay ?? "auto";
    const isZero = amount === 0 || amount === 0n;
    if (isNegative && sign !== "never" && !(isZero && sign !== "auto" && sign !== "always")) {
      if (style === "currency" && options.currencySign === "accounting") return `(${text})`;
      return `-${text}`;
    }
    if (sign === "always" || (sign === "exceptZero" && !isZero)) return isNegative ? `-${text}` : `+${text}`;
    return text;
  };

  method(Number.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return number(o.numberValue(this), locales, options);
  });
  method(BigInt.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return number(o.bigIntValue(this), locales, options);
  });

  const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"];
  const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const twoDigits = (value) => o.padStart(`${value}`, 2, "0");

  const DATE_STYLES = {
    __proto__: null,
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
  };
  const TIME_STYLES = {
    __proto__: null,
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
    long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
    short: { hour: "numeric", minute: "2-digit" },
  };
  const DATE_PARTS = ["weekday", "year", "month", "day"];
  const TIME_PARTS = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];

  // What to show, where nothing is asked for.
  const withDefaults = (options, needs) => {
    let parts = options ?? {};
    if (parts.dateStyle !== undefined || parts.timeStyle !== undefined) {
      return { ...DATE_STYLES[parts.dateStyle], ...TIME_STYLES[parts.timeStyle], ...parts, styled: parts.dateStyle };
    }
    const has = (names) => {
      for (let i = 0; i < names.length; i++) if (parts[names[i]] !== undefined) return true;
      return false;
    };
    const hasDate = has(DATE_PARTS);
    const hasTime = has(TIME_PARTS);
    if (needs === "date" && !hasDate) parts = { ...parts, year: "numeric", month: "numeric", day: "numeric" };
    else if (needs === "time" && !hasTime) parts = { ...parts, ...TIME_STYLES.medium };
    else if (needs === "any" && !hasDate && !hasTime) {
      parts = { ...parts, year: "numeric", month: "numeric", day: "numeric" };
    } else if (needs === "all" && !hasDate && !hasTime) {
      parts = { ...parts, year: "numeric", month: "numeric", day: "numeric", ...TIME_STYLES.medium };
    }
    return parts;
  };

  const fieldsOf = (date) => ({
    year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate(), weekday: date.getUTCDay(),
    hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  });

  const checkZone = (zone) => {
    if (zone === undefined) return;
    const name = o.upper(`${zone}`);
    if (name === "UTC" || name === "GMT" || name === "ETC/UTC" || name === "ETC/GMT") return;
    throw new o.RangeError(`time zone ${zone} is not available: programs have UTC only`);
  };

  const dateText = (date, parts, locales) => {
    const locale = localeOf(locales);
    const language = languageOf(locales);
    const at = fieldsOf(date);
    const year = parts.year === undefined ? undefined : parts.year === "2-digit" ? twoDigits(at.year % 100) : `${at.year}`;
    const day = parts.day === undefined ? undefined : parts.day === "2-digit" ? twoDigits(at.day) : `${at.day}`;
    const weekday = parts.weekday === undefined ? undefined
      : parts.weekday === "long" ? DAYS[at.weekday]
      : parts.weekday === "narrow" ? DAYS[at.weekday][0] : o.slice(DAYS[at.weekday], 0, 3);
    const isNumeric = parts.month === "numeric" || parts.month === "2-digit";
    if (parts.month === undefined || isNumeric) {
      const month = parts.month === undefined ? undefined
        : parts.month === "2-digit" ? twoDigits(at.month + 1) : `${at.month + 1}`;
      let order = [month, day, year];
      let separator = "/";
      if (locale === "en-GB" || language === "fr" || language === "es" || language === "it" || language === "pt") {
        order = [
          day === undefined ? day : language === "es" || language === "it" ? day : twoDigits(at.day),
          month === undefined ? month : language === "es" || language === "it" ? month : twoDigits(at.month + 1), year];
      } else if (language === "de") {
        order = [day, month, year];
        separator = ".";
      } else if (locale === "en-CA" || language === "sv") {
        order = [year, month === undefined ? month : twoDigits(at.month + 1), day === undefined ? day : twoDigits(at.day)];
        separator = "-";
      } else if (language === "ja" || language === "zh") order = [year, month, day];
      const kept = [];
      for (let i = 0; i < 3; i++) if (order[i] !== undefined) kept[kept.length] = order[i];
      const joined = o.join(kept, separator);
      return weekday === undefined ? joined : joined === "" ? weekday : `${weekday}, ${joined}`;
    }
    const name = MONTHS[at.month];
    const month = parts.month === "long" ? name : parts.month === "narrow" ? name[0] : o.slice(name, 0, 3);
    if (locale === "en-GB") {
      const kept = [];
      if (day !== undefined) kept[kept.length] = day;
      kept[kept.length] = month;
      if (year !== undefined) kept[kept.length] = year;
      const joined = o.join(kept, " ");
      return weekday === undefined ? joined : `${weekday}${parts.weekday === "long" ? " " : ", "}${joined}`;
    }
    let text = day === undefined ? month : `${month} ${day}`;
    if (year !== undefined) text += day === undefined ? ` ${year}` : `, ${year}`;
    return weekday === undefined ? text : `${weekday}, ${text}`;
  };

  const timeText = (date, parts, locales) => {
    if (parts.hour === undefined && parts.minute === undefined && parts.second === undefined) return "";
    const at = fieldsOf(date);
    const language = languageOf(locales);
    const prefersTwelve = language === "en" && localeOf(locales) !== "en-GB";
    const twelve = parts.hourCycle !== undefined ? parts.hourCycle === "h12" || parts.hourCycle === "h11"
      : parts.hour12 ?? prefersTwelve;
    const kept = [];
    if (parts.hour !== undefined) {
      const hour = twelve ? at.hour % 12 || 12
        : parts.hour12 === false && parts.hourCycle === undefined && prefersTwelve && at.hour === 0 ? 24 : at.hour;
      kept[0] = parts.hour === "2-digit" || !twelve ? twoDigits(hour) : `${hour}`;
    }
    if (parts.minute !== undefined) kept[kept.length] = kept.length > 0 || parts.second !== undefined ? twoDigits(at.minute) : `${at.minute}`;
    if (parts.second !== undefined) kept[kept.length] = kept.length > 0 ? twoDigits(at.second) : `${at.second}`;
    let text = o.join(kept, ":");
    if (parts.fractionalSecondDigits !== undefined) {
      text += `.${o.slice(o.padStart(`${at.millisecond}`, 3, "0"), 0, parts.fractionalSecondDigits)}`;
    }
    if (twelve && parts.hour !== undefined) text += ` ${at.hour < 12 ? "AM" : "PM"}`;
    if (parts.timeZoneName !== undefined) text += parts.timeZoneName === "long" ? " Coordinated Universal Time" : " UTC";
    return text;
  };

  const dateAndTime = (value, locales, options, needs) => {
    const date = new Date(value);
    if (o.isNaN(o.dateValue(date))) return "Invalid Date";
    const parts = withDefaults(options, needs);
    checkZone(parts.timeZone);
    const day = dateText(date, parts, locales);
    const time = timeText(date, parts, locales);
    if (day === "" || time === "") return day + time;
    const joint = parts.styled === "full" || parts.styled === "long" ||
      (parts.styled === undefined && parts.month === "long") ? " at " : ", ";
    return day + joint + time;
  };

  const dateMethod = (name, needs) =>
    method(Date.prototype, name, {
      [name](locales, options) {
        const time = o.dateValue(this);
        return o.isNaN(time) ? "Invalid Date" : dateAndTime(time, locales, options, needs);
      },
    }[name]);
  dateMethod("toLocaleDateString", "date");
  dateMethod("toLocaleTimeString", "time");
  dateMethod("toLocaleString", "all");

  const addZoneName = (name) => {
    const text = o.uncurry(Date.prototype[name]);
    method(Date.prototype, name, {
      [name]() {
        const shown = text(this);
        return o.endsWith(shown, "+0000") ? `${shown} (Coordinated Universal Time)` : shown;
      },
    }[name]);
  };
  addZoneName("toString");
  addZoneName("toTimeString");
  method(Date.prototype, "toISOString", function toISOString() {
    if (o.isNaN(o.dateValue(this))) throw new o.RangeError("Invalid time value");
    return o.dateText(this);
  });

  // The order of words: letters before their accents before their case, and everything
  // that is no letter first.
  const ORDER = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";
  const primary = (character) => {
    const at = o.indexOf(ORDER, character);
    if (at !== -1) return at + 1;
    const code = o.codePointAt(character, 0);
    return code <= 32 ? -100 + code : 1000 + code;
  };

  const expanded = (text) => {
    const letters = [];
    const normal = o.normalize(text, "NFD");
    for (let i = 0; i < normal.length; i++) {
      const code = o.codePointAt(normal, i);
      const length = code > 0xffff ? 2 : 1;
      const character = o.slice(normal, i, i + length);
      i += length - 1;
      if (code >= 0x300 && code <= 0x36f) {
        if (letters.length > 0) letters[letters.length - 1].accent += code;
        continue;
      }
      const small = o.lower(character);
      if (small === "ß") {
        letters[letters.length] = { weight: primary("s"), accent: 0, isUpper: false, digit: false };
        letters[letters.length] = { weight: primary("s"), accent: 1, isUpper: false, digit: false };
        continue;
      }
      letters[letters.length] = {
        weight: primary(small), accent: 0, isUpper: small !== character, digit: code >= 48 && code <= 57, code,
      };
    }
    return letters;
  };

  const numberAt = (letters, at) => {
    let value = 0;
    let end = at;
    while (end < letters.length && letters[end].digit) value = value * 10 + letters[end++].code - 48;
    return { value, end };
  };

  const compare = (left, right, options = {}) => {
    if (left === right) return 0;
    const { sensitivity = "variant", numeric = false, caseFirst } = options;
    const a = expanded(left);
    const b = expanded(right);
    let i = 0;
    let j = 0;
    while (i < a.length && j < b.length) {
      if (numeric && a[i].digit && b[j].digit) {
        const x = numberAt(a, i);
        const y = numberAt(b, j);
        if (x.value !== y.value) return x.value < y.value ? -1 : 1;
        i = x.end;
        j = y.end;
        continue;
      }
      if (a[i].weight !== b[j].weight) return a[i].weight < b[j].weight ? -1 : 1;
      i++;
      j++;
    }
    if (i < a.length || j < b.length) return i < a.length ? 1 : -1;
    const length = o.min(a.length, b.length);
    if (sensitivity === "accent" || sensitivity === "variant") {
      for (let k = 0; k < length; k++) {
        if (a[k].accent !== b[k].accent) return a[k].accent < b[k].accent ? -1 : 1;
      }
    }
    if (sensitivity === "case" || sensitivity === "variant") {
      for (let k = 0; k < length; k++) {
        if (a[k].isUpper !== b[k].isUpper) return (caseFirst === "upper" ? b : a)[k].isUpper ? 1 : -1;
      }
    }
    return 0;
  };

  method(String.prototype, "localeCompare", function localeCompare(other, _locales, options) {
    return compare(o.String(this), o.String(other), options);
  });

  class NumberFormat {
    #locales;
    #options;
    constructor(locales, options) {
      this.#locales = locales;
      this.#options = options ?? {};
      number(0, locales, this.#options);
      this.format = (value) => number(value, this.#locales, this.#options);
      o.defineProperty(this, "format", { __proto__: null, enumerable: false });
    }
    resolvedOptions() {
      return { locale: localeOf(this.#locales), numberingSystem: "latn", style: "decimal", ...this.#options };
    }
  }

  class DateTimeFormat {
    #locales;
    #options;
    constructor(locales, options) {
      this.#locales = locales;
      this.#options = options ?? {};
      checkZone(this.#options.timeZone);
      this.format = (value) => {
        const time = value === undefined ? Date.now() : o.Number(value);
        if (o.isNaN(time)) throw new o.RangeError("Invalid time value");
        return dateAndTime(time, this.#locales, this.#options, "any");
      };
      o.defineProperty(this, "format", { __proto__: null, enumerable: false });
    }
    resolvedOptions() {
      return { locale: localeOf(this.#locales), calendar: "gregory", numberingSystem: "latn", timeZone: "UTC", ...this.#options };
    }
  }

  class Collator {
    constructor(_locales, options) {
      this.compare = (left, right) => compare(o.String(left), o.String(right), options);
      o.defineProperty(this, "compare", { __proto__: null, enumerable: false });
    }
  }

  class PluralRules {
    #ordinal;
    constructor(_locales, options) {
      this.#ordinal = options?.type === "ordinal";
    }
    select(value) {
      if (!this.#ordinal) return value === 1 ? "one" : "other";
      const tens = value % 100;
      if (tens >= 11 && tens <= 13) return "other";
      return ["other", "one", "two", "few"][value % 10] ?? "other";
    }
  }

  class ListFormat {
    #word;
    constructor(_locales, options) {
      this.#word = options?.type === "disjunction" ? "or" : "and";
    }
    format(list) {
      const words = Array.from(list);
      if (words.length < 2) return o.join(words, "");
      if (words.length === 2) return `${words[0]} ${this.#word} ${words[1]}`;
      const last = words.pop();
      return `${o.join(words, ", ")}, ${this.#word} ${last}`;
    }
  }

  const Intl = {};
  const classes = [NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat];
  for (let i = 0; i < classes.length; i++) {
    // `Intl.NumberFormat()` without `new` is allowed, and used.
    const Class = classes[i];
    const callableClass = function (...args) {
      return new Class(...args);
    };
    o.defineProperty(callableClass, "name", { __proto__: null, value: Class.name });
    callableClass.prototype = Class.prototype;
    o.defineProperty(Class.prototype, "constructor", { __proto__: null, value: callableClass, writable: true, configurable: true });
    method(Intl, Class.name, callableClass);
  }
  o.defineProperty(Intl, o.toStringTag, { __proto__: null, value: "Intl", configurable: true });
  method(globalThis, "Intl", Intl);
}
