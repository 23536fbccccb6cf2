"""Names that C has: the words of C and C++, macros, and what its libraries and headers are called.

An exported function with the name of a function of the C library would replace it in the whole program: code that
copies an array by `memcpy` would call the function instead.
"""

from __future__ import annotations

import re

from wengert.core.errors import user_error


def split_names(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(text.split())


WORDS = split_names(
    """
    _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn
    _Static_assert _Thread_local alignas alignof and and_eq arena asm auto bitand bitor bool break case catch char
    char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    fortran friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    """
)
"""Words that cannot be names in C or C++, and the name of the last parameter."""

MACROS = split_names(
    """
    BUFSIZ CMPLX CMPLXF CMPLXL CLOCKS_PER_SEC DECIMAL_DIG DOMAIN EDOM EILSEQ EINTR EINVAL ENOENT ENOMEM EOF ERANGE
    EXIT_FAILURE EXIT_SUCCESS FALSE FILENAME_MAX HUGE HUGE_VAL HUGE_VALF HUGE_VALL I IN INFINITY MB_CUR_MAX MB_LEN_MAX
    M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN NDEBUG NULL OUT
    OVERFLOW PLOSS RAND_MAX SEEK_CUR SEEK_END SEEK_SET SIGABRT SIGFPE SIGILL SIGINT SIGKILL SIGSEGV SIGTERM SIG_DFL
    SIG_ERR SIG_IGN SING TLOSS TRUE UNDERFLOW WEOF assert complex errno far fpclassify i386 imaginary interface isfinite
    isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal issignaling isunordered iszero
    kill_dependency linux major makedev max min minor near noreturn offsetof setjmp signbit small stderr stdin stdout
    unix unreachable va_arg va_copy va_end va_list va_start
    """
)
"""Names that the preprocessor may replace, by the headers of C, of Linux, or of Windows."""

MACRO_FAMILIES = re.compile(
    r"U?INT(8|16|32|64|MAX|PTR|_FAST\d+|_LEAST\d+)?_(C|MAX|MIN|WIDTH)"
    r"|(S?S?CHAR|UCHAR|U?SHRT|U?L?LONG|S?SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)_(MAX|MIN|BIT|WIDTH)"
    r"|(PRI|SCN)[diouxXbB](\d+|FAST\d+|LEAST\d+|MAX|PTR)|(FLT|DBL|LDBL|FE|FP|LC|ATOMIC)_[A-Z0-9_]+"
)

MATHEMATICS = split_names(
    """
    acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cabs cacos cacosh carg casin casinh catan catanh
    cbrt ccos ccosh ceil cexp cimag clog compoundn conj copysign cos cosh cospi cpow cproj creal csin csinh csqrt ctan
    ctanh drem erf erfc exp exp10 exp10m1 exp2 exp2m1 expm1 fabs fdim finite floor fma fmax fmaximum fmin fminimum fmod
    frexp fromfp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llogb llrint llround log log10 log10p1 log1p log2
    log2p1 logb logp1 lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pow10 pown powr remainder
    remquo rint rootn round roundeven rsqrt scalb scalbln scalbn significand sin sincos sinh sinpi sqrt tan tanh tanpi
    tgamma trunc ufromfp y0 y1 yn
    """
)
"""The functions of <math.h> and <complex.h>, which exist with the ends f and l too."""

LIBRARY = split_names(
    """
    a64l abort abs accept access acct alarm aligned_alloc alloca arc4random arc4random_buf arc4random_uniform asctime
    asctime_r at_quick_exit atexit atof atoi atol atomic_flag_clear atomic_flag_clear_explicit atomic_flag_test_and_set
    atomic_flag_test_and_set_explicit atomic_signal_fence atomic_thread_fence bcmp bcopy bind brk bsearch btowc bzero
    c16rtomb c32rtomb call_once calloc cfree chdir chmod chown chroot clearenv clearerr clock clock_getcpuclockid
    clock_getres clock_gettime clock_nanosleep clock_settime close closedir closefrom cnd_broadcast cnd_destroy cnd_init
    cnd_signal cnd_timedwait cnd_wait confstr connect creat crypt ctermid ctime ctime_r daemon daylight difftime div
    dlclose dlerror dlopen dlsym dprintf drand48 drand48_r dup dup2 duplocale dysize ecvt ecvt_r endusershell environ
    erand48 erand48_r execl execle execlp execv execve execvp exit explicit_bzero faccessat fchdir fchmod fchmodat
    fchown fchownat fclose fcntl fcvt fcvt_r fdatasync fdopen feclearexcept fegetenv fegetexceptflag fegetround
    feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fexecve fflush
    ffs fgetc fgetpos fgets fgetwc fgetws fileno flockfile fmemopen fnmatch fopen fork fpathconf fprintf fputc fputs
    fputwc fputws fread free freelocale freopen fscanf fseek fseeko fsetpos fstat fstatat fsync ftell ftello ftime
    ftruncate ftrylockfile funlockfile futimens fwide fwprintf fwrite fwscanf gcvt getc getchar getcwd getdelim
    getdomainname getdtablesize getegid getenv geteuid getgid getgroups gethostid gethostname getline getloadavg
    getlogin getlogin_r getopt getpagesize getpass getpeername getpgid getpgrp getpid getppid gets getsid getsockname
    getsockopt getsubopt getuid getusershell getw getwc getwchar getwd glob gmtime gmtime_r gsignal iconv imaxabs
    imaxdiv index initstate initstate_r ioctl isalnum isalpha isascii isatty isblank iscntrl isdigit isfdtype isgraph
    islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower
    iswprint iswpunct iswspace iswupper iswxdigit isxdigit jrand48 jrand48_r kill killpg l64a labs lchmod lchown lcong48
    lcong48_r ldiv lgamma_r link linkat listen llabs lldiv localeconv localtime localtime_r lockf longjmp lrand48
    lrand48_r lseek lstat malloc mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc
    memalignment memccpy memchr memcmp memcpy memmove memset memset_explicit mkdir mkdirat mkdtemp mkfifo mkfifoat mknod
    mknodat mkstemp mkstemps mktemp mktime mmap mprotect mrand48 mrand48_r mtx_destroy mtx_init mtx_lock mtx_timedlock
    mtx_trylock mtx_unlock munmap nanosleep newlocale nftw nice nrand48 nrand48_r on_exit open open_memstream
    open_wmemstream openat opendir optarg opterr optind optopt pathconf pause pclose perror pipe poll popen
    posix_fadvise posix_fallocate posix_memalign pread printf printf_s profil program_invocation_name pselect psiginfo
    psignal putc putchar putenv puts putw putwc putwchar pwrite qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort quick_exit raise
    rand rand_r random random_r read readdir readlink readlinkat readv realloc reallocarray realpath recv recvfrom
    recvmsg regcomp regexec remove rename renameat revoke rewind rindex rmdir rpmatch sbrk scanf seed48 seed48_r select
    send sendmsg sendto setbuf setbuffer setdomainname setegid setenv seteuid setgid sethostid sethostname setjmp
    setlinebuf setlocale setlogin setpgid setpgrp setregid setreuid setsid setsockopt setstate setstate_r setuid
    setusershell setvbuf shutdown sigaction siglongjmp signal signgam sigset sigwait sleep snprintf sockatmark socket
    socketpair sprintf srand srand48 srand48_r srandom srandom_r sscanf ssignal stat stpcpy stpncpy strcasecmp strcat
    strchr strcmp strcoll strcpy strcspn strdup strerror strerror_r strfromd strfromf strfroml strftime strlen
    strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof
    strtoimax strtok strtok_r strtol strtold strtoq strtoul strtoumax strtouq strxfrm swprintf swscanf symlink symlinkat
    sync sys_errlist syscall sysconf system tcgetpgrp tcsetpgrp tempnam thrd_create thrd_current thrd_detach thrd_equal
    thrd_exit thrd_join thrd_sleep thrd_yield time timegm timelocal timespec_get timespec_getres timezone tmpfile tmpnam
    tmpnam_r toascii tolower toupper towctrans towlower towupper truncate tss_create tss_delete tss_get tss_set ttyname
    ttyname_r ttyslot tzname tzset ualarm umask ungetc ungetwc unlink unlinkat unsetenv uselocale usleep utimensat
    valloc vdprintf vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf
    vswprintf vswscanf vwprintf vwscanf wait waitpid wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcscmp wcscoll
    wcscpy wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr
    wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstombs wcstoul wcstoumax wcsxfrm wctob
    wctomb wctrans wctype wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf write writev wscanf
    """
)
"""What else the libraries of C and POSIX define."""

TYPES = split_names(
    """
    DIR FILE clock_t div_t double_t fenv_t fexcept_t float_t fpos_t imaxdiv_t int16_t int32_t int64_t int8_t intmax_t
    intptr_t jmp_buf ldiv_t lldiv_t max_align_t mbstate_t mode_t off_t pid_t ptrdiff_t sig_atomic_t size_t ssize_t std
    time_t tm uint uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t ulong ushort wctrans_t wctype_t wint_t
    """
)
"""Types of headers, and the namespace of C++."""

HEADERS = split_names(
    """
    assert c complex ctype dl errno fcntl fenv float inttypes iso646 limits locale m math memory pthread rt sched setjmp
    signal stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings
    tgmath threads time uchar unistd util wchar wctype
    """
)
"""Headers (`<math.h>`) and libraries (`-lm`), which files of an export would hide."""


def is_reserved(name: str) -> bool:
    """Whether a variable cannot have this name: it is a word of C or C++, or the preprocessor may replace it.

    >>> is_reserved("double"), is_reserved("errno"), is_reserved("gamma")
    (True, True, False)
    """
    return name in WORDS or name in MACROS or MACRO_FAMILIES.fullmatch(name) is not None


def is_in_library(name: str) -> bool:
    """Whether a header of C may declare this name.

    >>> is_in_library("memcpy"), is_in_library("y0f"), is_in_library("loss")
    (True, True, False)
    """
    return name in LIBRARY or name in TYPES or name in MATHEMATICS or (name[-1:] in "fl" and name[:-1] in MATHEMATICS)


def check_name(name: str) -> None:
    """Raise an error if a function in C cannot have this name, or if it would replace something of C."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise user_error(
            ValueError, f"{name!r} cannot be the name of a function in C", "Use letters, digits and underscores."
        )
    if is_reserved(name):
        why = "it is a word of C or C++, or a macro of a header"
    elif name.startswith("_"):
        why = "C reserves names that begin with an underscore"
    elif is_in_library(name):
        why = "the C library has it"
    elif name in HEADERS:
        why = "a header or a library of C is called so"
    else:
        return
    raise user_error(
        ValueError,
        f"{name!r} cannot be the name of an exported function, because {why}",
        f"Pass another one: name={'my_' + name.strip('_')!r}.",
    )
