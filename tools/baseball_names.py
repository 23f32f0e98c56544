"""Readable names for the codes of Lahman's database."""

LEAGUES = {
    "AA": "American Association",
    "AL": "American League",
    "FL": "Federal League",
    "NA": "National Association",
    "NL": "National League",
    "PL": "Players' League",
    "UA": "Union Association",
}

# The column of Appearances that counts games at each position; at equal counts the first wins.
APPEARANCES = {
    "G_p": "P",
    "G_c": "C",
    "G_1b": "1B",
    "G_2b": "2B",
    "G_3b": "3B",
    "G_ss": "SS",
    "G_of": "OF",
    "G_dh": "DH",
}

# Scorecard numbers, as AllstarFull writes the starting position.
SCORECARD = dict(enumerate(("P", "C", "1B", "2B", "3B", "SS", "LF", "CF", "RF", "DH"), start=1))

# The notes of an award that name a position; Baseball Magazine numbered its pitchers and catchers.
NOTED_POSITIONS = {name: name for name in (*SCORECARD.values(), "OF", "RP", "SP", "LHP", "RHP")}
NOTED_POSITIONS |= {"UT": "Utility"}
NOTED_POSITIONS |= {f"{name}{i}": name for name in "PC" for i in range(1, 7)}

AWARDS = {
    "BBWAA Manager of the Year": "Manager of the Year",
    "MLB Players Curt Flood Award": "Players Choice Curt Flood Award",
    "Reliever of the Year Award": "Reliever of the Year",
    "SIlver Slugger": "Silver Slugger",
}

ELECTORS = {
    "BBWAA": "Baseball Writers' Association",
    "Centennial": "Centennial Commission",
    "Classic Baseball Era": "Classic Baseball Era Committee",
    "Contemporary Baseball Era Non-Players": "Contemporary Baseball Era Committee",
    "Contemporary Era": "Contemporary Baseball Era Committee",
    "Negro League": "Committee on the Negro Leagues",
    "Old Timers": "Old Timers Committee",
    "Run Off": "Baseball Writers' Association (run-off)",
    "Special Election": "Special Election",
    "Veterans": "Veterans Committee",
    "Veterans - 1943 and Later": "Veterans Committee (1943 and later)",
    "Veterans - Early Baseball Era": "Early Baseball Era Committee",
    "Veterans - Executives": "Veterans Committee (executives)",
    "Veterans - Expansion Era": "Expansion Era Committee",
    "Veterans - Golden Age Era": "Golden Days Era Committee",
    "Veterans - Golden Era": "Golden Era Committee",
    "Veterans - Managers and Umpires": "Veterans Committee (managers and umpires)",
    "Veterans - Modern Baseball Era": "Modern Baseball Era Committee",
    "Veterans - Pre-1943": "Veterans Committee (before 1943)",
    "Veterans - Pre-Integration Era": "Pre-Integration Era Committee",
    "Veterans - Today's Game Era": "Today's Game Era Committee",
}

ROUNDS = {
    "AEDIV": "American League East Division Series",
    "ALCS": "American League Championship Series",
    "ALDS": "American League Division Series",
    "ALWC": "American League Wild Card",
    "AWDIV": "American League West Division Series",
    "CS": "National League Championship Series of 1892",
    "NEDIV": "National League East Division Series",
    "NLCS": "National League Championship Series",
    "NLDS": "National League Division Series",
    "NLWC": "National League Wild Card",
    "NWDIV": "National League West Division Series",
    "WS": "World Series",
}

COUNTRIES = {
    "CAN": "Canada",
    "Columbia": "Colombia",
    "Curacao": "Curaçao",
    "D.R.": "Dominican Republic",
    "P.R.": "Puerto Rico",
    "Virgin Islands": "U.S. Virgin Islands",
}

STATES = {
    "AK": "Alaska",
    "AL": "Alabama",
    "AR": "Arkansas",
    "AZ": "Arizona",
    "CA": "California",
    "CO": "Colorado",
    "CT": "Connecticut",
    "DC": "District of Columbia",
    "DE": "Delaware",
    "FL": "Florida",
    "GA": "Georgia",
    "HI": "Hawaii",
    "IA": "Iowa",
    "ID": "Idaho",
    "IL": "Illinois",
    "IN": "Indiana",
    "KS": "Kansas",
    "KY": "Kentucky",
    "LA": "Louisiana",
    "MA": "Massachusetts",
    "MD": "Maryland",
    "ME": "Maine",
    "MI": "Michigan",
    "MN": "Minnesota",
    "MO": "Missouri",
    "MS": "Mississippi",
    "MT": "Montana",
    "NC": "North Carolina",
    "ND": "North Dakota",
    "NE": "Nebraska",
    "NH": "New Hampshire",
    "NJ": "New Jersey",
    "NM": "New Mexico",
    "NV": "Nevada",
    "NY": "New York",
    "OH": "Ohio",
    "OK": "Oklahoma",
    "OR": "Oregon",
    "PA": "Pennsylvania",
    "RI": "Rhode Island",
    "SC": "South Carolina",
    "SD": "South Dakota",
    "TN": "Tennessee",
    "TX": "Texas",
    "UT": "Utah",
    "VA": "Virginia",
    "VT": "Vermont",
    "WA": "Washington",
    "WI": "Wisconsin",
    "WV": "West Virginia",
    "WY": "Wyoming",
}
