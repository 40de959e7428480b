import type { ReactElement } from "react";
import { Trans } from "react-i18next/TransWithoutContext";

import { i18n, inWords, type Values } from "../words/language";
import { Unseen } from "./Layout";

interface Props {
  /** A literal: its parts stand in tags, as in `See <a>the guide</a>.` */
  text: string;
  /** Elements by the names of their tags, beside those that every sentence has. */
  parts?: Record<string, ReactElement>;
  values?: Values;
}

const ALWAYS = { strong: <strong />, em: <em />, code: <code />, unseen: <Unseen>{null}</Unseen> };

/** A sentence with links, code or other elements in it. */
export function Rich({ text, parts = {}, values = {} }: Props) {
  return (
    <Trans
      i18n={i18n}
      i18nKey={text}
      defaults={text}
      components={{ ...ALWAYS, ...parts }}
      values={inWords(values)}
      tOptions={{ interpolation: { escapeValue: true } }} // a value is text, also where it looks like a tag
      shouldUnescape
    />
  );
}
